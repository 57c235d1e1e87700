"use strict";
(() => {
  {% include "common.js" %}
  {% include "listing.js" %}

  /* Numbers of the bits that are set in a hexadecimal mask. */
  function members(mask) {
    const found = [];
    for (let bits = BigInt("0x" + mask), k = 0; bits; bits >>= 1n, k++) if (bits & 1n) found.push(k);
    return found;
  }

  class View extends Listing {
    constructor(article) {
      super(article);
      this.data = null;
      this.cursor = article.querySelector(".cursor");
      const chart = article.querySelector(".profile");
      chart.addEventListener("click", (event) => {
        const box = chart.getBoundingClientRect();
        this.go(Math.floor((event.clientX - box.left) / box.width * this.load().rows.length));
      });
    }

    load() {
      this.data ??= JSON.parse(this.article.querySelector(".data").textContent);
      return this.data;
    }

    places() { return [...this.load().rows.keys()]; }

    clicked(event) { if (event.target.closest("u")) this.follow(); }

    go(pc) { super.go(Math.max(0, Math.min(this.load().rows.length - 1, pc))); }

    follow() {
      const target = this.load().rows[this.at][8];
      if (target >= 0) this.go(target);
    }

    next(places, back) {
      const found = back ? places.filter((pc) => pc < this.at).pop() : places.find((pc) => pc > this.at);
      if (found !== undefined) this.go(found);
    }

    pressed(event) {
      const data = this.load();
      const jumps = { p: data.points, l: data.loops, r: data.restarts.map(([pc]) => pc) };
      const places = jumps[event.key.toLowerCase()];
      if (places) this.next(places, event.shiftKey);
      return places !== undefined;
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

  present(View, /^(Arrow(Up|Down)|[jklpr])$/i);
  let opened;
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const node of opened) node.open = true;
  });
  addEventListener("afterprint", () => { for (const node of opened ?? []) node.open = false; });
})();
