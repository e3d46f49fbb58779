// Average faces: the slider between two of them, links that carry the view, and the grid by keyboard.
(() => {
  "use strict";
  const query = () => new URLSearchParams(location.search);

  // Gradio changes what is there to what the server sent, attribute by attribute: whatever is set here is set anew after it.
  const set = (element, name, value) => {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  };

  // ---- links: the view's base, what the link changes, and where the slider stands ----
  const carried = () => ["mode", "at"].filter((name) => query().get("tab") === "faces" && query().get(name))
    .map((name) => `&${name}=${encodeURIComponent(query().get(name))}`).join("");
  const complete = (root) => {
    for (const link of root.querySelectorAll("a[data-rest]")) {
      const base = link.closest("[data-base]").dataset.base, { rest } = link.dataset;
      set(link, "href", `?${base}${rest ? "&" + rest : ""}${carried()}`);
    }
  };

  // ---- the slider ----
  const named = { wipe: (at) => `A on the left ${at} %, B on the right ${100 - at} %`, blend: (at) => `${at} % A over B` };
  const paint = (root) => {
    const range = root.querySelector(".lk-compare-range");
    if (!range) return;
    const { mode } = root.dataset, words = named[mode](Number(range.value));
    set(root, "style", `--at:${range.value}`);
    set(range, "value", range.value);
    set(range, "aria-valuetext", words);
    const said = root.querySelector(".lk-compare-said");
    if (said.textContent !== words) said.textContent = words;
    for (const button of root.querySelectorAll("button[data-mode]")) {
      set(button, "aria-pressed", String(button.dataset.mode === mode));
    }
  };
  let waiting = 0;
  const remember = (root) => { // into the address, without a step in the history
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const now = query();
      if (!document.contains(root) || now.get("tab") !== "faces") return;
      for (const [name, value, usual] of [["mode", root.dataset.mode, "wipe"], ["at", root.querySelector("input").value, "50"]]) {
        if (value === usual) now.delete(name);
        else now.set(name, value);
      }
      window.likeness.replace(now.toString());
      for (const board of document.querySelectorAll("#lk-faces-board, #lk-faces-panel")) complete(board);
    }, 250);
  };
  document.addEventListener("input", (event) => {
    const root = event.target.matches(".lk-compare-range") && event.target.closest(".lk-compare");
    if (!root) return;
    paint(root);
    remember(root);
  });
  const drag = (event) => {
    const frame = event.target.closest && event.target.closest(".lk-compare-frame");
    if (!frame || !event.buttons) return;
    const box = frame.getBoundingClientRect(), range = frame.parentElement.querySelector(".lk-compare-range");
    range.value = Math.round((100 * (event.clientX - box.left)) / box.width);
    range.dispatchEvent(new Event("input", { bubbles: true }));
    if (event.type === "pointerdown") event.preventDefault();
  };
  document.addEventListener("pointerdown", drag);
  document.addEventListener("pointermove", drag);

  // ---- the grid: one stop for Tab, its A and B; the arrow keys move among averages ----
  const rows = (grid) => [...grid.querySelectorAll(".lk-face-row")]
    .map((row) => [...row.querySelectorAll(".lk-face-picture")]).filter((row) => row.length);
  const stop = (grid, picture) => {
    for (const link of grid.querySelectorAll("a")) link.tabIndex = -1;
    for (const link of picture.closest(".lk-face").querySelectorAll("a")) link.tabIndex = 0;
  };
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest && event.target.closest(".lk-faces-grid .lk-face-picture");
    if (!link) return;
    const all = rows(link.closest(".lk-faces-grid"));
    const y = all.findIndex((row) => row.includes(link)), x = all[y].indexOf(link);
    const steps = { ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1], ArrowDown: [y + 1, x], ArrowUp: [y - 1, x] };
    const to = steps[event.key] && (all[steps[event.key][0]] || [])[steps[event.key][1]];
    if (!to) return;
    event.preventDefault();
    stop(link.closest(".lk-faces-grid"), to);
    to.focus();
  });

  // ---- the boxes: whether a person changed one last, or the server did ----
  let touched = false;
  const touch = (event) => {
    if (event.key === "Tab" || event.key === "Shift") return; // passing through
    touched = Boolean(event.target.closest && event.target.closest("#lk-faces-controls"));
  };
  for (const name of ["pointerdown", "keydown", "click"]) document.addEventListener(name, touch, true);
  window.addEventListener("popstate", () => { touched = false; });

  // ---- Escape closes what lies behind an average, unless it closes something else ----
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]") || event.target.closest("input, [role=listbox]")) return;
    const close = document.querySelector(".lk-faces-close");
    if (!close || !close.checkVisibility()) return;
    event.preventDefault();
    close.click();
  });

  // ---- the way to the comparison goes while the comparison is on the screen ----
  const near = new IntersectionObserver((found) => {
    document.body.classList.toggle("lk-compare-seen", found[found.length - 1].isIntersecting);
  }, { threshold: 0.2 });
  let observed = null;
  const observe = (root) => {
    if (!root || root === observed) return;
    near.disconnect();
    near.observe(observed = root);
  };

  // ---- an address that names an average opens at its images ----
  let arrived = query().get("tab") === "faces" && (query().get("c") || "-") !== "-";
  for (const name of ["wheel", "pointerdown", "keydown"]) document.addEventListener(name, () => { arrived = false; }, true);

  // ---- after a click the view is drawn anew: focus stays where it was, or goes to what was asked for ----
  let key = "", goal = "", asked = 0;
  document.addEventListener("click", (event) => {
    if (event.target.closest(".lk-faces-jump button")) document.querySelector(".lk-compare").scrollIntoView({ block: "center" });
    const drawer = event.target.closest(".lk-drawer button");
    if (drawer) drawer.setAttribute("aria-expanded", String(drawer.getAttribute("aria-expanded") !== "true"));
    const button = event.target.closest(".lk-compare button[data-mode]");
    if (button) {
      const root = button.closest(".lk-compare");
      root.dataset.mode = button.dataset.mode;
      paint(root);
      remember(root);
      return;
    }
    const link = event.target.closest("[data-base] a[data-key]");
    if (link) [key, goal, asked] = [link.dataset.key, link.dataset.goto || "", Date.now()];
  }, true);

  window.likenessFaces = {
    ask: () => (touched ? location.search : ""),
    watch: (element) => {
      const look = () => {
        complete(element);
        for (const root of element.querySelectorAll(".lk-compare")) paint(root);
        observe(element.querySelector(".lk-compare"));
        const grid = element.querySelector(".lk-faces-grid");
        const opened = arrived && element.querySelector("#lk-faces-members");
        if (opened) {
          arrived = false;
          setTimeout(() => opened.isConnected && opened.scrollIntoView({ block: "start" }), 300);
        }
        const back = Date.now() - asked < 10000 && key ? element.querySelector(`a[data-key="${CSS.escape(key)}"]`) : null;
        if (grid) {
          const own = back && grid.contains(back) ? back.closest(".lk-face").querySelector("a") : rows(grid)[0]?.[0];
          if (own) stop(grid, own);
        }
        if (back && !goal) {
          back.focus({ preventScroll: true });
          const { top, bottom } = back.getBoundingClientRect();
          if (bottom < 0 || top > innerHeight) back.scrollIntoView({ block: "center" });
          key = "";
        }
        const target = goal && Date.now() - asked < 10000 ? element.querySelector(`#${goal}`) : null;
        if (target) {
          target.focus({ preventScroll: true });
          target.scrollIntoView({ block: "start" });
          key = goal = "";
        }
      };
      const seen = ["href", "value", "data-base", "data-mode"];
      new MutationObserver(look).observe(element, { childList: true, subtree: true, attributeFilter: seen });
      look();
    },
  };
})();
