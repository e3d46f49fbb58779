// "Ask a model" of the tab Live: the picture that a visitor chooses, pastes or drops. The app checks and scales it; the page
// alone holds what came back, and sends it with the question.
(() => {
  "use strict";
  const MOST_BYTES = 20e6; // explorers/_query.py
  let held = ""; // a data URL
  let sending = null;

  const find = (selector) => document.querySelector(selector);
  const inView = () => { const at = find("#lk-ask-upload"); return Boolean(at && at.checkVisibility()); };
  const complain = (words) => { const line = find("#lk-ask-upload .lk-near-problem"); if (line) line.textContent = words; };

  const show = (note) => {
    const figure = find(".lk-ask-own"), back = find("#lk-ask-upload [data-ask-back]");
    if (!figure) return; // the panel went away meanwhile; it asks again when it is back
    figure.hidden = back.hidden = !held && !note;
    figure.replaceChildren();
    if (figure.hidden) return;
    const caption = document.createElement("figcaption");
    caption.setAttribute("role", "status");
    caption.textContent = note || "Your picture, as it is asked about";
    if (held) {
      const picture = document.createElement("img");
      picture.alt = "Your picture";
      picture.addEventListener("load", () => { caption.textContent += `: ${picture.naturalWidth} × ${picture.naturalHeight} pixels`; });
      picture.src = held;
      figure.append(picture);
    }
    figure.append(caption);
  };

  const urlOf = (blob) => new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(reader.result));
    reader.addEventListener("error", () => failed(new TypeError("the answer could not be read")));
    reader.readAsDataURL(blob);
  });

  const hold = async (file) => {
    if (sending) sending.abort();
    held = "";
    complain("");
    show("");
    if (!file.size) { complain("The file is empty (0 bytes): export it again, then try once more."); return; }
    if (file.size > MOST_BYTES) {
      complain(`This file has ${(file.size / 1e6).toFixed(1)} MB, more than the limit of ${MOST_BYTES / 1e6} MB: scale the picture down.`);
      return;
    }
    const mine = (sending = new AbortController());
    show("Looking at your picture …");
    let words = "The app does not answer. Check the connection, then choose the picture again.";
    try {
      const answer = await fetch("query/live/picture", { method: "POST", body: file, headers: { "X-Likeness": "query" }, signal: mine.signal });
      const said = answer.headers.get("X-Likeness");
      if (answer.ok && said === "picture") {
        const url = await urlOf(await answer.blob());
        if (mine.signal.aborted) return;
        held = url;
        words = "";
      } else words = said === "problem" ? await answer.text() : `The app refused the picture (${answer.status}). Reload the page, then try again.`;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof TypeError)) throw error; // a TypeError is what fetch makes of a lost connection or file
    }
    if (mine.signal.aborted) return;
    complain(words);
    show("");
  };

  const drop = () => { if (sending) sending.abort(); held = ""; complain(""); show(""); };

  // ---- choosing, pasting, dropping ----
  const pictureOf = (data) => [...((data && data.files) || [])][0];
  document.addEventListener("change", (event) => {
    if (!event.target.matches("#lk-ask-upload input[type=file]")) return;
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
  document.addEventListener("dragover", (event) => { if (dragged(event)) event.preventDefault(); }); // else the browser would open the file
  document.addEventListener("drop", (event) => {
    if (!dragged(event)) return;
    event.preventDefault();
    const file = pictureOf(event.dataTransfer);
    if (file) hold(file);
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-ask-back]")) return;
    drop();
    const input = find("#lk-ask-upload input[type=file]");
    if (input) input.focus(); // the button that had the focus is gone
  });

  window.likenessAsk = { picture: () => held, show: () => show() };
})();
