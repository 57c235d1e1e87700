  /* A listing of instructions, of which one is selected. A page says what it shows of it (`show`), which addresses there
     are (`places`), where Enter leads (`follow`), and what else keys and clicks do (`pressed`, `clicked`). */
  class Listing {
    constructor(article) {
      this.article = article;
      this.id = article.id;
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
        if (!row || getSelection().toString()) return;
        this.select(this.place(row));
        this.clicked(event);
      });
      rows.addEventListener("keydown", (event) => this.key(event));
      article.addEventListener("click", (event) => {
        const link = event.target.closest(`a[href^="#${this.id}-"]`);
        if (link) { event.preventDefault(); this.go(Number(link.hash.split("-").pop())); }
      });
    }

    clicked() {}

    pressed() { return false; }

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
      this.trail.push(this.at);
      this.reveal(pc, "center");
    }

    reveal(pc, block) {
      this.select(pc);
      this.row(pc).scrollIntoView({ block });
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const places = this.places(), index = places.indexOf(this.at), last = places.length - 1;
      const page = Math.max(1, Math.floor(innerHeight / 19) - 10);
      const steps = { ArrowUp: -1, ArrowDown: 1, k: -1, j: 1, PageUp: -page, PageDown: page };
      if (event.key in steps) this.reveal(places[Math.max(0, Math.min(last, index + steps[event.key]))], "nearest");
      else if (event.key === "Home") this.reveal(places[0], "center");
      else if (event.key === "End") this.reveal(places[last], "center");
      else if (event.key === "Enter") this.follow();
      else if (event.key === "Backspace") { if (this.trail.length) this.reveal(this.trail.pop(), "center"); }
      else if (!this.pressed(event)) return;
      event.preventDefault();
    }
  }

  /* Show the kernel, and the instruction, that the address names; `keys` work before one is in focus, too. */
  function present(View, keys) {
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
      if (event.target === document.body && keys.test(event.key) && !event.ctrlKey && !event.metaKey)
        [...views.values()].find((view) => !view.article.hidden).key(event);
    });
    open();
  }
