"use strict";
(() => {
  {% include "common.js" %}

  /* Numbers of the bits that are set in a hexadecimal mask. */
  function members(mask) {
    const found = [];
    for (let bits = BigInt("0x" + mask), k = 0; bits; bits >>= 1n, k++) if (bits & 1n) found.push(k);
    return found;
  }

  class View {
    constructor(article) {
      this.article = article;
      this.id = article.id;
      this.data = null;
      this.at = 0;
      this.trail = [];
      this.panel = article.querySelector("aside");
      this.cursor = article.querySelector(".cursor");
      const rows = article.querySelector(".rows");
      rows.addEventListener("pointerover", (event) => {
        const row = event.target.closest(".r");
        if (row) this.show(this.place(row));
      });
      rows.addEventListener("pointerleave", () => this.show(this.at));
      rows.addEventListener("click", (event) => {
        const row = event.target.closest(".r");
        if (!row || getSelection().toString()) return;
        this.select(this.place(row));
        if (event.target.closest("u")) this.follow();
      });
      rows.addEventListener("keydown", (event) => this.key(event));
      const chart = article.querySelector(".profile");
      chart.addEventListener("click", (event) => {
        const box = chart.getBoundingClientRect();
        this.go(Math.floor((event.clientX - box.left) / box.width * this.load().rows.length));
      });
      article.addEventListener("click", (event) => {
        const link = event.target.closest(`a[href^="#${this.id}-"]`);
        if (link) { event.preventDefault(); this.go(Number(link.hash.split("-").pop())); }
      });
    }

    load() {
      this.data ??= JSON.parse(this.article.querySelector(".data").textContent);
      return this.data;
    }

    row(pc) { return document.getElementById(`${this.id}-${pc}`); }

    place(row) { return Number(row.id.split("-").pop()); }

    /* Make an instruction the one that keys start from. */
    select(pc, focus = true) {
      const old = this.row(this.at), row = this.row(pc);
      old.tabIndex = -1;
      old.removeAttribute("aria-selected");
      row.tabIndex = 0;
      row.setAttribute("aria-selected", "true");
      this.at = pc;
      if (focus) row.focus({ preventScroll: true });
      this.show(pc);
    }

    /* Jump: select and bring into view, and remember where from. */
    go(pc) {
      const last = this.load().rows.length - 1;
      this.trail.push(this.at);
      this.reveal(Math.max(0, Math.min(last, pc)), "center");
    }

    reveal(pc, block) {
      this.select(pc);
      this.row(pc).scrollIntoView({ block });
    }

    follow() {
      const target = this.load().rows[this.at][8];
      if (target >= 0) this.go(target);
    }

    next(places, back) {
      const found = back ? places.filter((pc) => pc < this.at).pop() : places.find((pc) => pc > this.at);
      if (found !== undefined) this.go(found);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const data = this.load(), last = data.rows.length - 1;
      const page = Math.max(1, Math.floor(innerHeight / 19) - 10);
      const steps = { ArrowUp: -1, ArrowDown: 1, k: -1, j: 1, PageUp: -page, PageDown: page };
      if (event.key in steps) this.reveal(Math.max(0, Math.min(last, this.at + steps[event.key])), "nearest");
      else if (event.key === "Home") this.reveal(0, "center");
      else if (event.key === "End") this.reveal(last, "center");
      else if (event.key === "Enter") this.follow();
      else if (event.key === "Backspace") { if (this.trail.length) this.reveal(this.trail.pop(), "center"); }
      else if (event.key.toLowerCase() === "p") this.next(data.points, event.shiftKey);
      else if (event.key.toLowerCase() === "l") this.next(data.loops, event.shiftKey);
      else if (event.key.toLowerCase() === "r") this.next(data.restarts.map(([pc]) => pc), event.shiftKey);
      else return;
      event.preventDefault();
    }

    /* What is known of each register's pattern before an instruction. */
    shapes(pc) {
      const known = new Map();
      for (let k = 0; k <= pc; k++) {
        const changes = this.data.rows[k][5];
        for (let i = 0; i < changes.length; i += 2) known.set(changes[i], this.data.shapes[changes[i + 1]]);
      }
      return known;
    }

    show(pc) {
      const data = this.load();
      const [live, waiting, predicates, uniforms, compressed, , regions, drain, , point, origin] = data.rows[pc];
      const mine = members(live), others = members(waiting), shapes = this.shapes(pc);
      const place = (pc + .5) * 1200 / data.rows.length;
      this.cursor.setAttribute("d", `M${place} 0V84`);
      this.cursor.style.display = "inline";
      const row = this.row(pc), panel = [];
      panel.push(make("div", { className: "what" }, make("span", {}, String(pc)), row.querySelector("code").textContent));
      for (const [where, text] of origin < 0 ? [] : [data.origins[origin]])
        panel.push(make("div", { className: "origin" }, where, ...(text ? [make("code", {}, text)] : [])));
      const table = make("table", {});
      const sizes = [["occupied", bytes(data.occupied)], ["live", bytes(mine.length * data.size)]];
      if (others.length) sizes.push(["live, diverged", bytes((mine.length + others.length) * data.size)]);
      sizes.push(["live+cp, at most", bytes(compressed)]);
      for (const [name, text] of sizes) table.append(make("tr", {}, make("td", {}, name), make("td", {}, text)));
      panel.push(make("h3", {}, "Context of a warp"), table);
      panel.push(make("h3", {}, `Registers: ${mine.length} live of ${data.registers}`), this.grid(mine, others, shapes));
      panel.push(this.legend());
      const known = mine.filter((r) => shapes.get(r));
      if (known.length) {
        panel.push(make("h3", {}, "Known to be uniform or strided"));
        panel.push(make("div", { className: "shapes" }, ...known.map(
          (r) => make("div", {}, make("b", {}, `R${r}`), ` ${shapes.get(r)}`))));
      }
      const small = [...members(predicates).map((p) => `P${p}`), ...members(uniforms).map((u) => `U${u}`)];
      if (small.length) panel.push(make("h3", {}, "Predicates and uniform registers, 4 B each"), make("p", {}, small.join(" ")));
      panel.push(make("h3", {}, "A preemption now"));
      panel.push(make("p", {}, `occupied: stops here, ${bytes(data.occupied)}`), make("p", {}, `live: ${data.drains[drain]}`));
      if (point >= 0) panel.push(make("h3", {}, "Why a point is here"), make("p", {}, data.why[point]));
      panel.push(make("h3", {}, "Can be executed again from"));
      for (const k of data.regions[regions]) {
        const [start, reason] = data.restarts[k];
        panel.push(make("p", {}, make("a", { href: `#${this.id}-${start}`, tabIndex: -1 }, String(start)), `: ${reason}`));
      }
      this.panel.replaceChildren(...panel);
    }

    grid(mine, others, shapes) {
      const live = new Set(mine), waiting = new Set(others), cells = [];
      for (let r = 0; r < this.data.registers; r++) {
        const shape = shapes.get(r);
        const kind = waiting.has(r) ? "waiting" : !live.has(r) ? "" : !shape ? "random" : shape.startsWith("stride") ? "strided" : "uniform";
        cells.push(make("span", { className: kind, title: `R${r}${shape && live.has(r) ? ": " + shape : ""}` }, String(r)));
      }
      return make("div", { className: "grid" }, ...cells);
    }

    legend() {
      const parts = [];
      for (const kind of ["uniform", "strided", "random", "waiting"])
        parts.push(make("span", { className: kind }), kind === "random" ? "not known" : kind);
      const legend = make("p", { className: "legend" }, ...parts);
      for (const mark of legend.querySelectorAll("span"))
        mark.style.background = { random: "var(--live)", waiting: "var(--wait)" }[mark.className] ?? `var(--${mark.className})`;
      return legend;
    }
  }

  const views = new Map([...document.querySelectorAll("article")].map((article) => [article.id, new View(article)]));
  const tabs = document.querySelectorAll("nav a[data-kernel]");

  /* Show the kernel, and the instruction, that the address names. */
  function open() {
    const [id, pc] = location.hash.slice(1).split("-");
    const view = views.get(id) ?? views.values().next().value;
    for (const other of views.values()) other.article.hidden = other !== view;
    for (const tab of tabs) tab.toggleAttribute("aria-current", tab.dataset.kernel === view.id);
    if (pc && view.row(pc)) view.go(Number(pc));
    else view.select(view.at, false);
  }
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    if (event.target === document.body && /^(Arrow(Up|Down)|[jklpr])$/i.test(event.key) && !event.ctrlKey && !event.metaKey)
      [...views.values()].find((view) => !view.article.hidden).key(event);
  });
  let opened;
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const node of opened) node.open = true;
  });
  addEventListener("afterprint", () => { for (const node of opened ?? []) node.open = false; });
  open();
})();
