// Nearest neighbours: the picture that a visitor uploads, pastes or drops, which the page alone holds, and walking on from
// image to image. The server's answers hold two places that this script fills: .lk-near-own and .lk-near-slot.
(() => {
  "use strict";
  const MOST_BYTES = 20e6; // explorers/_query.py
  let held = null; // {file, url, number}
  let number = 0, walking = "", sending = null;

  const find = (selector) => document.querySelector(selector);
  const ways = () => find("#lk-near-query [data-picture]"); // what the server says of the view that is shown
  const inView = () => { const at = find("#lk-near-upload"); return Boolean(at && at.checkVisibility()); };
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const complain = (words) => { find(".lk-near-problem").textContent = words; };

  // ---- the picture ----
  const hold = (file) => {
    if (!ways()) return;
    complain("");
    if (!file.size) { complain("The file is empty (0 bytes): export it again, then try once more."); return; }
    if (file.size > MOST_BYTES) {
      const size = (file.size / 1e6).toFixed(1);
      complain(`This file has ${size} MB, more than the limit of ${MOST_BYTES / 1e6} MB: scale the picture down.`);
      return;
    }
    if (held) URL.revokeObjectURL(held.url);
    held = { file, url: URL.createObjectURL(file), number: ++number };
    if (find(".lk-near-slot")) fill();
    else window.likeness.open(ways().dataset.picture);
  };

  // Puts the picture and what is like it into the places of the view; without a picture the server's words stay there.
  const fill = () => {
    const own = find(".lk-near-own"), slot = find(".lk-near-slot"), again = find("#lk-near-upload [data-again]");
    const idle = !held || Boolean(own);
    if (again && again.hidden !== idle) again.hidden = idle;
    if (!held || !own || !slot) return;
    if (own.dataset.filled !== String(held.number)) {
      own.dataset.filled = held.number;
      own.replaceChildren(preview());
    }
    if (slot.dataset.filled !== String(held.number)) {
      slot.dataset.filled = held.number;
      send(slot, held.file);
    }
  };

  const preview = () => {
    const figure = make("figure", "lk-figure"), picture = make("img"), caption = make("figcaption");
    picture.alt = "Your picture";
    picture.addEventListener("error", () => { picture.replaceWith(make("p", "lk-near-none")); explain(); });
    picture.src = held.url;
    caption.append(make("b", "", "Your picture"), make("span", "", held.file.name || "pasted"));
    figure.append(picture, caption);
    return figure;
  };

  // Why there is no preview: of a picture that was refused the reason stands where its neighbours would.
  const explain = () => {
    const none = find(".lk-near-own figure .lk-near-none");
    if (none && held) none.textContent = held.usable ? "This browser cannot show it" : held.usable === false ? "No picture" : "";
  };

  const send = async (slot, file) => {
    if (sending) sending.abort();
    const mine = (sending = new AbortController());
    slot.setAttribute("aria-busy", "true");
    slot.replaceChildren(make("p", "lk-state", "Comparing your picture …" + slot.dataset.wait));
    slot.firstChild.setAttribute("role", "status");
    let usable = false, words = "The app does not answer. Check the connection, then choose the picture again.";
    try {
      const answer = await fetch(slot.dataset.ask, { method: "POST", body: file, headers: { "X-Likeness": "query" }, signal: mine.signal });
      const said = answer.headers.get("X-Likeness"), text = await answer.text();
      if (!slot.dataset.filled) return; // the visitor went on, and Gradio made the place into something else
      if (answer.ok && said === "picture") {
        slot.innerHTML = text;
        words = "";
        usable = true;
      } else words = said === "problem" ? text : `The app refused the picture (${answer.status}). Reload the page, then try again.`;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof TypeError)) throw error; // a TypeError is what fetch makes of a lost connection or file
    }
    slot.removeAttribute("aria-busy");
    if (held && held.file === file) { held.usable = usable; explain(); }
    if (!words) return;
    const line = make("p", "lk-problem", words);
    line.setAttribute("role", "alert");
    const on = make("p", "lk-actions"), back = make("a", "lk-button lk-view", "Go on with an image of the audit");
    back.href = "?" + ways().dataset.back;
    on.append(back);
    slot.replaceChildren(line, on);
  };

  // ---- choosing, pasting, dropping ----
  const pictureOf = (data) => [...((data && data.files) || [])][0];
  document.addEventListener("change", (event) => {
    if (!event.target.matches("#lk-near-upload input[type=file]")) return;
    const file = event.target.files[0];
    if (file) hold(file);
    event.target.value = ""; // so that the same file can be chosen again
  });
  document.addEventListener("paste", (event) => {
    const file = inView() && pictureOf(event.clipboardData);
    if (!file) return;
    event.preventDefault();
    hold(file);
  });
  const dragged = (event) => inView() && event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  const mark = (on) => { const at = find(".lk-near-upload"); if (at) at.classList.toggle("lk-over", on); };
  document.addEventListener("dragover", (event) => {
    if (!dragged(event)) return;
    event.preventDefault(); // else the browser would leave the page and open the file
    mark(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(false); });
  document.addEventListener("drop", (event) => {
    if (!dragged(event)) return;
    event.preventDefault();
    mark(false);
    const file = pictureOf(event.dataTransfer);
    if (file) hold(file);
  });

  // ---- walking ----
  document.addEventListener("click", (event) => {
    if (event.target.closest("#lk-near-upload [data-again]")) window.likeness.open(ways().dataset.picture);
    const step = event.target.closest("[data-walk]");
    if (step) walking = new URLSearchParams(step.search).get("of");
    const near = event.target.closest("#lk-dialog a[data-near]"), from = near && inView() && ways();
    if (!from || from.dataset.audit !== new URLSearchParams(near.search).get("audit")) return;
    const query = new URLSearchParams(near.search); // from the detail of a neighbour: a step of the same walk
    query.set("k", from.dataset.k);
    const steps = from.dataset.steps ? from.dataset.steps.split(",") : [], back = steps.indexOf(query.get("of"));
    const kept = back < 0 ? steps : steps.slice(0, back); // the walk has been there: it goes back
    if (kept.length) query.set("trail", kept.join(","));
    near.href = "?" + query;
    walking = query.get("of");
  }, true);
  document.addEventListener("focusin", (event) => { // Tab goes from a picture to its own "Walk here" alone
    const figure = event.target.closest && event.target.closest(".lk-near-found .lk-figure");
    if (!figure) return;
    for (const link of figure.parentElement.querySelectorAll(".lk-walk")) link.tabIndex = figure.contains(link) ? 0 : -1;
  });
  const arrived = () => { // the link that was followed is gone: the focus goes to the image it led to
    const link = walking && find(`.lk-near-query a[data-detail$="/${walking}"]`);
    if (!link) return;
    walking = "";
    link.focus();
  };

  window.likenessNear = {
    shown: inView,
    watch: (element) => {
      const look = () => { fill(); arrived(); };
      const everything = { childList: true, subtree: true, attributes: true, characterData: true }; // Gradio patches in place
      new MutationObserver(look).observe(element, everything);
      fill();
    },
  };
})();
