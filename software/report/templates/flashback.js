"use strict";
(() => {
  {% include "common.js" %}
  {% include "listing.js" %}

  const MARKS = ["again", "undone", "resumed", "reached"];

  class View extends Listing {
    constructor(article) {
      super(article);
      this.facts = null;
      this.marked = [];
    }

    /* Facts by address. */
    load() {
      this.facts ??= new Map(JSON.parse(this.article.querySelector(".data").textContent).map((fact) => [fact.pc, fact]));
      return this.facts;
    }

    places() { return [...this.load().keys()]; }

    follow() { this.go(this.load().get(this.at).flashback); }

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

  present(View, /^(Arrow(Up|Down)|[jk])$/i);
})();
