"use strict";
(() => {
  {% include "common.js" %}

  const MARKS = ["again", "undone", "resumed", "reached"];

  class View {
    constructor(article) {
      this.article = article;
      this.id = article.id;
      this.facts = null;
      this.marked = [];
      this.trail = [];
      this.panel = article.querySelector("aside");
      const rows = article.querySelector(".rows");
      this.at = this.place(rows.querySelector(".r"));
      rows.addEventListener("pointerover", (event) => {
        const row = event.target.closest(".r");
        if (row) this.show(this.place(row));
      });
      rows.addEventListener("pointerleave", () => this.show(this.at));
      rows.addEventListener("click", (event) => {
        const row = event.target.closest(".r");
        if (row && !getSelection().toString()) this.select(this.place(row));
      });
      rows.addEventListener("keydown", (event) => this.key(event));
      article.addEventListener("click", (event) => {
        const link = event.target.closest(`a[href^="#${this.id}-"]`);
        if (link) { event.preventDefault(); this.go(Number(link.hash.split("-").pop())); }
      });
    }

    /* Facts by address. */
    load() {
      this.facts ??= new Map(JSON.parse(this.article.querySelector(".data").textContent).map((fact) => [fact.pc, fact]));
      return this.facts;
    }

    row(pc) { return document.getElementById(`${this.id}-${pc}`); }

    place(row) { return Number(row.id.split("-").pop()); }

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

    go(pc) {
      this.trail.push(this.at);
      this.reveal(pc, "center");
    }

    reveal(pc, block) {
      this.select(pc);
      this.row(pc).scrollIntoView({ block });
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const places = [...this.load().keys()], index = places.indexOf(this.at), last = places.length - 1;
      const page = Math.max(1, Math.floor(innerHeight / 19) - 10);
      const steps = { ArrowUp: -1, ArrowDown: 1, k: -1, j: 1, PageUp: -page, PageDown: page, Home: -index, End: last - index };
      if (event.key in steps) this.reveal(places[Math.max(0, Math.min(last, index + steps[event.key]))], "nearest");
      else if (event.key === "Enter") this.go(this.load().get(this.at).flashback);
      else if (event.key === "Backspace") { if (this.trail.length) this.reveal(this.trail.pop(), "center"); }
      else return;
      event.preventDefault();
    }

    mark(name, places) {
      for (const pc of places) {
        const row = this.row(pc);
        row.classList.add(name);
        this.marked.push(row);
      }
    }

    show(pc) {
      const fact = this.load().get(pc), panel = [], link = (to) => make("a", { href: `#${this.id}-${to}`, tabIndex: -1 }, String(to));
      for (const row of this.marked) row.classList.remove(...MARKS);
      this.marked = [];
      this.mark("again", fact.again);
      this.mark("undone", fact.reverted);
      this.mark("resumed", fact.resumed);
      if (fact.runs_on) this.mark("reached", [fact.deferred]);
      panel.push(make("div", { className: "what" }, make("span", {}, String(pc)), this.row(pc).querySelector("code").textContent));
      const table = make("table", {});
      for (const [name, text] of [
        ["live", bytes(fact.live_bytes)], ["strict condition", bytes(fact.strict_bytes)],
        ["relaxed condition", bytes(fact.relaxed_bytes)], ["with reverting", bytes(fact.reverting_bytes)],
        ["saved, with everything", bytes(fact.bytes)], ["running on", bytes(fact.deferred_bytes)],
        ["the least in the block", bytes(fact.checkpoint_bytes)]])
        table.append(make("tr", {}, make("td", {}, name), make("td", {}, text)));
      panel.push(make("h3", {}, "Context of a warp"), table);
      panel.push(make("h3", {}, "Estimated cycles"), make("p", {},
        `to save ${Math.round(fact.latency)}, to bring back ${Math.round(fact.resume_latency)}`));
      const list = (title, name, places) => {
        if (!places.length) return;
        const text = make("p", {}, ...places.flatMap((to) => [link(to), " "]));
        panel.push(make("h3", { className: "legend" }, make("span", { className: name }), title), text);
      };
      list("reverted before the save", "undone", fact.reverted);
      panel.push(make("h3", {}, `Saved: ${fact.saved.length} registers`), make("p", {}, fact.saved.join(" ") || "nothing"));
      for (const [source, place] of fact.backups) panel.push(make("p", {}, `the older ${source}, kept in ${place}`));
      list("executed again at resume", "again", fact.again);
      list("reverted at resume", "resumed", fact.resumed);
      if (fact.runs_on) panel.push(make("h3", {}, "Better"), make("p", {}, "run on to ", link(fact.deferred),
        ` and save ${bytes(fact.deferred_bytes)} in ${Math.round(fact.deferred_latency)} cycles`));
      this.panel.replaceChildren(...panel);
    }
  }

  const views = new Map([...document.querySelectorAll("article")].map((article) => [article.id, new View(article)]));
  const tabs = document.querySelectorAll("nav a[data-kernel]");

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
    if (event.target === document.body && /^(Arrow(Up|Down)|[jk])$/i.test(event.key) && !event.ctrlKey && !event.metaKey)
      [...views.values()].find((view) => !view.article.hidden).key(event);
  });
  open();
})();
