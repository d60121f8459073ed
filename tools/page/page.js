// Marks the lines that belong to a line. `data-n` lists nodes of the model, `data-k` kernels, and
// `data-c` is a line of a kernel's C++.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const numbers = (element, name) => {
    const text = element?.getAttribute(name);
    return text ? text.split(" ") : [];
  };
  const panes = all(".pane");
  const linked = all(".link");
  const status = document.getElementById("status");
  let kept = null;     // the line that was clicked
  let shown = null;    // the line whose kin is marked
  let marked = [];

  const mark = (element, name) => {
    element.classList.add(name);
    marked.push([element, name]);
  };
  const meets = (some, others) => some.some((x) => others.includes(x));

  // A line of a block has the kernel of the block.
  const linksOf = (line) => {
    const owner = line.closest(".link");
    return { nodes: numbers(owner, "data-n"), kernels: numbers(owner, "data-k"), cpp: line.getAttribute("data-c") };
  };

  const show = (line, from) => {
    if (line === shown) return;
    shown = line;
    for (const [element, name] of marked) element.classList.remove(name);
    marked = [];
    if (!line) {
      status.textContent = "Nothing is chosen.";
      return;
    }
    const { nodes, kernels, cpp } = linksOf(line);
    for (const element of linked) {
      if (meets(nodes, numbers(element, "data-n"))) mark(element, "same");
      if (meets(kernels, numbers(element, "data-k"))) mark(element, "kin");
    }
    if (cpp) {
      for (const pane of ["cpp", "asm"]) {
        for (const other of all(`#${pane}-${kernels[0]} [data-c="${cpp}"]`)) mark(other, "same");
      }
    }
    mark(line, "here");
    for (const pane of panes) {
      if (pane === from) continue;
      const best = pane.querySelector(".same") ?? pane.querySelector(".kin");
      if (best) reveal(pane.querySelector(".body"), best);
    }
    status.textContent = sentence(nodes, kernels, cpp);
  };

  // Scrolls the pane and nothing around it, and only as far as needed.
  const reveal = (body, element) => {
    const outer = body.getBoundingClientRect(), inner = element.getBoundingClientRect();
    const above = inner.top - outer.top, below = inner.bottom - outer.bottom;
    const is_block = element.classList.contains("block");
    if (above >= 26 && below <= 0 && !is_block) return;
    body.scrollTo({ top: body.scrollTop + above - (is_block ? 0 : outer.height / 3), left: is_block ? 0 : body.scrollLeft });
  };

  const sentence = (nodes, kernels, cpp) => {
    const names = kernels.map((k) => document.getElementById(`loops-${k}`).getAttribute("aria-label"));
    const lines = (pane) => kernels.reduce((sum, k) => sum + all(`#${pane}-${k} li`).length, 0);
    const what = nodes.length ? `Node ${nodes.map((n) => +n + 1).join(", ")}` : "";
    if (!kernels.length) return `${what || "This line"} is part of no kernel.`;
    const count = cpp ? all(`#asm-${kernels[0]} [data-c="${cpp}"]`).length : 0;
    const exact = cpp ? ` Line ${cpp} of its C++: ${count} ${count === 1 ? "instruction" : "instructions"}.` : "";
    return `${what}${what ? " → " : ""}${names.join(", ")}: ${lines("loops")} lines of loops, ${lines("cpp")} of C++, ` +
      `${lines("asm")} of assembly.${exact}`;
  };

  const keep = (line) => {
    kept = line;
    document.body.classList.toggle("kept", Boolean(line));
  };
  const lineAt = (target) => target.closest?.("li, tr[data-k], .block > h3");

  let timer = 0;
  document.addEventListener("mouseover", (event) => {
    const line = lineAt(event.target);
    if (kept || !line) return;
    clearTimeout(timer);
    timer = setTimeout(() => show(line, line.closest(".pane")), 60);
  });
  document.addEventListener("click", (event) => {
    const line = lineAt(event.target);
    if (event.target.closest("a") || !line) return;
    keep(null);
    show(line, line.closest(".pane"));
    keep(line);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      keep(null);
      show(null);
    }
    const pane = document.activeElement?.closest(".pane");
    if (!pane || !document.activeElement.matches(".body")) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const lines = all("li", pane);
    if (event.key === "Enter" && shown) keep(shown);
    if (!step || !lines.length) return;
    event.preventDefault();
    keep(null);
    const now = lines.indexOf(shown);
    const next = lines[Math.min(lines.length - 1, Math.max(0, now < 0 ? 0 : now + step))];
    show(next, pane);
    next.scrollIntoView({ block: "nearest" });
  });

  // A pane that is widened takes the space of three. The first two may share a column.
  const columns = { "pane-model": ["--w1"], "pane-program": ["--w1", "--w2"], "pane-loops": ["--w3"], "pane-cpp": ["--w4"], "pane-asm": ["--w5"] };
  for (const button of all(".widen")) {
    button.addEventListener("click", () => {
      const is_wide = button.getAttribute("aria-pressed") === "true";
      const style = document.querySelector("main").style;
      style.cssText = "";
      for (const other of all(".widen")) other.setAttribute("aria-pressed", "false");
      if (is_wide) return;
      button.setAttribute("aria-pressed", "true");
      for (const name of columns[button.closest(".pane").id]) style.setProperty(name, "3fr");
    });
  }

  // Colours of words: for the eye alone, no link hangs on them. After a single blank, `//` divides.
  const words = /((?<=^|  )\/\/.*$)|\b(kernel|for|in|block|parallel|vectorized|unrolled|local|spatial|reduction|reads|writes|def|let|if|else|return|const|static|struct|void|float|int32_t|int64_t|extern|fn)\b|(\b\d[\w.]*\b|"[^"]*")/g;
  for (const code of all("#pane-program code, #pane-loops code, #pane-cpp code, #pane-model code")) {
    const text = code.textContent;
    let last = 0;
    const parts = [];
    for (const found of text.matchAll(words)) {
      const span = document.createElement("span");
      span.className = found[1] ? "cm" : found[2] ? "kw" : "lit";
      span.textContent = found[0];
      parts.push(text.slice(last, found.index), span);
      last = found.index + found[0].length;
    }
    if (parts.length) code.replaceChildren(...parts, text.slice(last));
  }

  // A link from elsewhere chooses what it points to.
  const follow = () => {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (!target?.matches("li, tr, .block")) return;
    keep(null);
    const line = target.matches(".block") ? target.querySelector("h3") : target;
    show(line, null);
    keep(line);
  };
  addEventListener("hashchange", follow);
  follow();
})();
