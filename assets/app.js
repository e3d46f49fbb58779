// The address bar, links between views, moving among pictures with the arrow keys, and the dialog that shows one image.
// No framework; Gradio calls in through window.likeness (see app.py).
(() => {
  "use strict";
  let navigate = null; // asks the server for the view that an address names
  const alone = {}; // tabs that ask for their own view alone, which is quicker; each says whether it does
  let firstTab = "", started = false, chosen = -1e9; // when a visitor last pressed a tab
  let steps = 0; // to other addresses: an answer to what was asked before the last of them comes too late
  const opened = {}; // the tabs whose view was drawn
  const lastOf = {}; // each tab's last address in this window: going back to a tab restores it

  // ---- the address ----
  const parameters = (search = location.search) => new URLSearchParams(search);
  const tabOf = () => parameters().get("tab") || firstTab;
  const viewOf = (search) => {
    const query = parameters(search);
    query.delete("image");
    return query.toString();
  };
  let shown = viewOf(location.search); // the view on the page, without the image in the dialog

  const settle = () => {
    shown = viewOf(location.search);
    if (tabOf()) lastOf[tabOf()] = shown;
    // A Hugging Face Space lies in a frame: its parent shows the address.
    if (window.parent !== window) {
      window.parent.postMessage({ queryString: location.search.slice(1), hash: "" }, "https://huggingface.co");
    }
    setTimeout(() => {
      const titles = [...document.querySelectorAll(".gradio-container h2")].filter((e) => e.checkVisibility());
      document.title = (titles.length ? titles[0].textContent + " – " : "") + "Likeness";
      const tab = document.querySelector("#lk-tabs [role=tab][aria-selected=true]"), bar = tab && tab.parentElement;
      if (bar && bar.scrollWidth > bar.clientWidth) bar.scrollLeft = tab.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2; // on a phone
    }, 600);
  };

  // A step that opened a picture is marked, so that closing the picture can go back, also after a reload or a Back.
  const setAddress = (query, replace, picture) => {
    const next = query ? "?" + query : location.pathname;
    if (next === location.search) return;
    history[replace ? "replaceState" : "pushState"](picture ? { picture: true } : null, "", next);
    settle();
  };
  const marked = () => Boolean(history.state && history.state.picture);

  window.likeness = {
    at: () => String(steps),
    push: (told) => {
      const [query, at] = (told || "").split("\n");
      if (at && at !== String(steps)) { go(); return; } // it drew an older view over the newer one
      if (!query || query === shown) return;
      const image = dialog && dialog.open && parameters().get("image"); // an answer that came after a picture was opened
      setAddress(image ? `${query}&image=${image}` : query, Boolean(image), image && marked());
    },
    connect: (go, slug) => { if (slug) alone[slug] = go; else navigate = go; },
    open: (query) => { setAddress(query, false); go(); }, // a view that a script chose
    replace: (query) => setAddress(query, true), // the same view, told more exactly: no step in the history
    start: () => {
      started = true;
      opened[tabOf()] = true;
      settle();
      openFromAddress();
    },
    // Called as a tab is shown: the address whose view has still to be drawn, or "". Only a tab that a visitor chose counts:
    // the page's own start shows the first tab before the address is read, and what a step through the history shows can be
    // told of after the next step.
    tab: (slug, first) => {
      firstTab = first;
      if (!started || performance.now() - chosen > 3000 || tabOf() === slug) return "";
      chosen = -1e9;
      steps += 1;
      const audit = parameters().get("audit");
      setAddress(lastOf[slug] || "tab=" + slug + (audit ? "&audit=" + encodeURIComponent(audit) : ""), false);
      const before = opened[slug];
      opened[slug] = true;
      return before ? "" : location.search;
    },
  };

  const go = () => {
    steps += 1;
    opened[tabOf()] = true;
    settle();
    if (alone[tabOf()] && alone[tabOf()](location.search)) return;
    if (navigate) navigate(location.search);
  };

  // ---- one image ----
  let dialog = null, links = [], position = -1, opener = null, closing = false;

  const makeDialog = () => {
    dialog = document.createElement("dialog");
    dialog.id = "lk-dialog";
    dialog.setAttribute("aria-label", "One image");
    dialog.innerHTML =
      '<div class="lk-dialog-bar"><button type="button" data-step="-1">Previous image</button>' +
      '<button type="button" data-step="1">Next image</button><span class="lk-position" role="status"></span>' +
      '<button type="button" data-close autofocus>Close</button></div><div class="lk-dialog-body"></div>';
    (document.querySelector(".gradio-container") || document.body).appendChild(dialog);
    dialog.addEventListener("close", () => {
      if (!closing) {
        if (marked()) history.back();
        else setAddress(viewOf(location.search), true);
      }
      closing = false;
      if (opener && document.contains(opener)) opener.focus();
      opener = null;
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
      const step = event.target.closest("[data-step]");
      if (step) move(Number(step.dataset.step));
    });
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") move(-1);
      if (event.key === "ArrowRight") move(1);
    });
  };

  const among = (link) => {
    const board = link.closest(".lk-grid") || document;
    links = [...board.querySelectorAll("a[data-detail]")];
    position = links.indexOf(link);
    opener = link;
  };

  const buttons = () => {
    dialog.querySelector('[data-step="-1"]').disabled = position <= 0;
    dialog.querySelector('[data-step="1"]').disabled = position < 0 || position >= links.length - 1;
    const column = position >= 0 && links[position].closest("[id^=lk-grid-]") ? " in this column" : ""; // of Browse
    const where = position < 0 ? "" : `${position + 1} of ${links.length}${column}`;
    dialog.querySelector(".lk-position").textContent = where;
  };

  const move = (step) => {
    const link = links[position + step];
    if (link) { position += step; opener = link; show(link.dataset.detail); }
  };

  const DETAIL = /^detail\/([A-Za-z0-9][\w.-]{0,63})\/([0-9a-f]{16})$/;

  const show = async (path) => {
    const parts = DETAIL.exec(path);
    if (!parts) return;
    if (!dialog || !document.contains(dialog)) makeDialog();
    const body = dialog.querySelector(".lk-dialog-body");
    buttons();
    const query = parameters();
    const first = !dialog.open && query.get("image") !== parts[2];
    query.set("audit", parts[1]);
    query.set("image", parts[2]);
    setAddress(query.toString(), !first, first || marked());
    if (!dialog.open) dialog.showModal();
    body.setAttribute("aria-busy", "true");
    let html = "<p>The app does not answer. Check the connection, then try again.</p>";
    try {
      const answer = await fetch(path);
      if (answer.ok && answer.headers.get("X-Likeness") === "detail") html = await answer.text();
      else html = "<p>This address names an image that no open audit has. Close this and choose another.</p>";
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // a TypeError is what fetch makes of a lost connection
    }
    body.innerHTML = html;
    body.removeAttribute("aria-busy");
  };

  const openFromAddress = (tries = 0) => {
    const query = parameters();
    if (!query.get("image")) return;
    const any = document.querySelector("a[data-detail]"); // an address without an audit shows the first
    const audit = query.get("audit") || (any && any.dataset.detail.split("/")[1]);
    if (!audit) { if (tries < 50) setTimeout(() => openFromAddress(tries + 1), 100); return; }
    links = []; position = -1; opener = null;
    const path = `detail/${audit}/${query.get("image")}`;
    show(path);
    tries = 0;
    const wait = setInterval(() => {
      const link = [...document.querySelectorAll("a[data-detail]")].find((a) => a.dataset.detail === path);
      if (link && dialog && dialog.open) { among(link); buttons(); }
      if (link || ++tries > 50) clearInterval(wait);
    }, 100);
  };

  // ---- events ----
  document.addEventListener("click", (event) => {
    const button = event.target.closest("#lk-tabs button");
    if (button && !button.closest("[role=tabpanel]")) chosen = performance.now(); // a tab, or one in the menu of those without room
  }, true);

  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const figure = event.target.closest("a[data-detail]");
    if (figure) {
      event.preventDefault();
      among(figure);
      show(figure.dataset.detail);
      return;
    }
    const view = event.target.closest("a.lk-view");
    if (view && navigate) {
      event.preventDefault();
      const query = new URL(view.href).search.slice(1);
      if (dialog && dialog.open) { closing = true; dialog.close(); } // Back opens the picture again
      setAddress(query, false);
      go();
    }
  });

  // One picture of a grid is reached with Tab; the arrow keys, Home and End move among its pictures.
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest && event.target.closest(".lk-grid a[data-detail]");
    if (!link) return;
    const all = [...link.closest(".lk-grid").querySelectorAll("a[data-detail]")];
    const at = all.indexOf(link);
    const across = all.filter((a) => a.offsetTop === all[0].offsetTop).length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across, Home: -at, End: all.length - 1 - at };
    const next = event.key in steps && all[at + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    link.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  window.addEventListener("popstate", () => {
    const open = dialog && dialog.open;
    if (viewOf(location.search) === shown) { // only the image in the dialog changed
      if (parameters().get("image")) openFromAddress();
      else if (open) { closing = true; dialog.close(); }
      return;
    }
    if (open) { closing = true; dialog.close(); }
    go();
    openFromAddress();
  });
})();
