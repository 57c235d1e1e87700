  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => { root.dataset.theme = dark.matches ? "dark" : "light"; });
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });

  const bytes = (n) => `${n.toLocaleString("en")} B`;

  function make(name, attributes, ...children) {
    const node = document.createElement(name);
    Object.assign(node, attributes);
    node.append(...children);
    return node;
  }
