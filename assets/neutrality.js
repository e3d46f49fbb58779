// The heatmap of Neutrality by keyboard, and the focus between a cell and the answers behind it.
(() => {
  "use strict";
  const PANEL = "lk-neutral-answers";
  let goal = 0; // when the answers behind a cell were asked for

  const cells = (table) => [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td > a")]);
  const current = (element) => element.querySelector(".lk-heat a[aria-current]") || element.querySelector(".lk-heat a");
  const stop = (table, cell) => {
    for (const link of table.querySelectorAll('td > a[tabindex="0"]')) if (link !== cell) link.tabIndex = -1;
    if (cell) cell.tabIndex = 0;
  };
  const busy = (now) => { // at once, before the answers come
    const panel = document.getElementById(PANEL);
    if (panel) now ? panel.setAttribute("aria-busy", "true") : panel.removeAttribute("aria-busy");
  };
  const reveal = () => {
    goal = 0;
    busy(false);
    const panel = document.getElementById(PANEL);
    if (!panel) return;
    panel.scrollTop = 0;
    panel.focus({ preventScroll: true });
    const top = panel.getBoundingClientRect().top;
    if (top < 0 || top > window.innerHeight - 200) panel.scrollIntoView({ block: "start" });
  };

  document.addEventListener("keydown", (event) => {
    const link = event.target.closest && event.target.closest(".lk-heat td > a");
    if (event.key === "Escape" && event.target.closest && event.target.closest(`#${PANEL}`)) back(event);
    if (!link) return;
    const table = link.closest(".lk-heat"), all = cells(table), y = all.findIndex((row) => row.includes(link)), x = all[y].indexOf(link);
    const steps = { ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1], ArrowDown: [y + 1, x], ArrowUp: [y - 1, x],
      Home: [0, x], End: [all.length - 1, x], PageDown: [Math.min(y + 12, all.length - 1), x], PageUp: [Math.max(y - 12, 0), x] };
    const to = steps[event.key] && (all[steps[event.key][0]] || [])[steps[event.key][1]];
    if (!to) return;
    event.preventDefault();
    stop(table, to);
    to.focus();
  });

  const back = (event) => {
    event.preventDefault();
    const cell = current(document.querySelector("#lk-neutral-board"));
    if (cell) { stop(cell.closest(".lk-heat"), cell); cell.focus(); }
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest(`#${PANEL} [data-back]`)) { back(event); return; }
    const link = event.target.closest(".lk-heat td > a, a[data-goto]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
    if (new URL(link.href).search === location.search) reveal();
    else { goal = Date.now(); busy(true); setTimeout(() => busy(false), 10000); }
  }, true);

  window.likenessNeutral = {
    watch: (element) => {
      const look = () => {
        const table = element.querySelector(".lk-heat");
        if (table && !table.contains(document.activeElement)) stop(table, current(element));
        if (goal && Date.now() - goal < 10000 && document.getElementById(PANEL)) reveal();
      };
      new MutationObserver(look).observe(element, { childList: true, subtree: true, attributeFilter: ["href", "aria-current"] });
      look();
    },
  };
})();
