// The marks and bars of Hiring by keyboard, and the focus between one of them and its dialogues.
(() => {
  "use strict";
  const PANEL = "lk-hire-dialogue";
  const LINKS = ".lk-hire-bars td > a, a.lk-hire-mark";
  let goal = 0, came = ""; // when a dialogue was asked for, and from where (the id of a board)

  const boardOf = (element) => element.closest("#lk-hire-marks, #lk-hire-board");
  const linksOf = (board) => [...board.querySelectorAll(LINKS)];
  const current = (board) => board.querySelector("a[aria-current]:not([data-goto])") || linksOf(board)[0];
  const stop = (board, link) => {
    for (const other of linksOf(board)) if (other !== link && other.tabIndex === 0) other.tabIndex = -1;
    if (link) link.tabIndex = 0;
  };
  const busy = (now) => {
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

  const inTable = (link, key) => {
    const all = [...link.closest("table").querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td > a")]).filter((row) => row.length);
    const y = all.findIndex((row) => row.includes(link)), x = all[y].indexOf(link), last = all.length - 1;
    const steps = { ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1], ArrowDown: [y + 1, x], ArrowUp: [y - 1, x],
      Home: [0, x], End: [last, x], PageDown: [Math.min(y + 12, last), x], PageUp: [Math.max(y - 12, 0), x] };
    return steps[key] && (all[steps[key][0]] || [])[steps[key][1]];
  };
  const inChart = (link, key) => { // left and right by Consistency, up and down by Confirmation
    const along = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1 }[key];
    const place = (mark) => [parseFloat(mark.style.left), parseFloat(mark.style.bottom)];
    const marks = linksOf(boardOf(link)).map((mark) => [mark, ...place(mark)]);
    const first = key === "ArrowUp" || key === "ArrowDown" ? 2 : 1;
    marks.sort((a, b) => a[first] - b[first] || a[3 - first] - b[3 - first]);
    if (key === "Home") return marks[0][0];
    if (key === "End") return marks[marks.length - 1][0];
    const to = along && marks[marks.findIndex((one) => one[0] === link) + along];
    return to && to[0];
  };

  document.addEventListener("keydown", (event) => {
    const at = event.target.closest ? event.target : null;
    if (at && event.key === "Escape" && at.closest(`#${PANEL}`)) back(event);
    const link = at && at.closest(LINKS);
    if (!link) return;
    const to = link.classList.contains("lk-hire-mark") ? inChart(link, event.key) : inTable(link, event.key);
    if (!to) return;
    event.preventDefault();
    stop(boardOf(link), to);
    to.focus();
  });

  const back = (event) => {
    event.preventDefault();
    const board = document.getElementById(came || "lk-hire-board"), link = board && current(board);
    if (link) { stop(board, link); link.focus(); }
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest(`#${PANEL} [data-back]`)) { back(event); return; }
    const link = event.target.closest(`${LINKS}, a[data-goto=${PANEL}]`);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
    if (boardOf(link)) came = boardOf(link).id;
    if (new URL(link.href).search === location.search) reveal();
    else { goal = Date.now(); busy(true); setTimeout(() => busy(false), 10000); }
  }, true);

  const read = (event) => { // the line below the chart says what a mark is
    const mark = event.target.closest && event.target.closest(".lk-hire-mark"), line = mark && mark.closest(".lk-board").querySelector(".lk-hire-readout");
    if (line) line.textContent = mark.title;
  };
  document.addEventListener("pointerover", read);
  document.addEventListener("focusin", read);

  window.likenessHiring = {
    watch: (element) => {
      const look = () => {
        if (linksOf(element).length && !linksOf(element).includes(document.activeElement)) stop(element, current(element));
      };
      new MutationObserver(look).observe(element, { childList: true, subtree: true, attributeFilter: ["href", "aria-current"] });
      look();
    },
    panel: (element) => {
      new MutationObserver(() => { if (goal && Date.now() - goal < 10000) reveal(); }).observe(element, { childList: true, subtree: true, characterData: true });
    },
  };
})();
