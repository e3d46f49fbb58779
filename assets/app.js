// The address bar, links between views, and the dialog that shows one image. No framework; Gradio calls in through
// window.likeness (see app.py).
(() => {
  "use strict";
  let navigate = null;

  const parameters = () => new URLSearchParams(location.search);

  const tellParent = () => {
    // A Hugging Face Space lies in a frame: its parent shows the address.
    if (window.parent !== window) {
      window.parent.postMessage({ queryString: location.search.slice(1), hash: "" }, "https://huggingface.co");
    }
  };

  // Each tab's last address in this window, so that going back to a tab restores its address.
  const lastOf = {};
  let firstTab = "", started = false;
  const tabOf = () => parameters().get("tab") || firstTab;
  const remember = () => {
    const query = parameters();
    query.delete("image");
    if (tabOf()) lastOf[tabOf()] = query.toString();
    tellParent();
  };

  const setAddress = (query, replace) => {
    const next = query ? "?" + query : location.pathname;
    if (next === location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", next);
    remember();
  };

  window.likeness = {
    push: (query) => { if (query) setAddress(query, false); },
    connect: (go) => { navigate = go; },
    start: () => { started = true; },
    // Called as a tab is shown. "yes" where a person switched to it. The page's own start shows the first tab before
    // the address is read; steps through the history restore a tab that the address names already.
    tab: (slug, first) => {
      firstTab = first;
      if (!started || tabOf() === slug) return "no";
      setAddress(lastOf[slug] || "tab=" + slug, false);
      return "yes";
    },
  };

  // ---- one image ----
  let dialog = null, links = [], position = -1, opener = null;

  const makeDialog = () => {
    dialog = document.createElement("dialog");
    dialog.id = "lk-dialog";
    dialog.setAttribute("aria-label", "One image");
    dialog.innerHTML =
      '<div class="lk-dialog-bar"><button type="button" data-step="-1">Previous image</button>' +
      '<button type="button" data-step="1">Next image</button>' +
      '<button type="button" data-close autofocus>Close</button></div><div class="lk-dialog-body"></div>';
    const host = document.querySelector(".gradio-container") || document.body;
    host.appendChild(dialog);
    dialog.addEventListener("close", () => {
      const query = parameters();
      query.delete("image");
      setAddress(query.toString(), true);
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

  const move = (step) => {
    const link = links[position + step];
    if (link) { position += step; opener = link; show(link.dataset.detail); }
  };

  const show = async (path) => {
    if (!dialog || !document.contains(dialog)) makeDialog();
    const body = dialog.querySelector(".lk-dialog-body");
    dialog.querySelector('[data-step="-1"]').disabled = position <= 0;
    dialog.querySelector('[data-step="1"]').disabled = position < 0 || position >= links.length - 1;
    if (!dialog.open) dialog.showModal();
    body.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(path);
      body.innerHTML = answer.ok ? await answer.text()
        : "<p>This address names an image that no open audit has. Close this and choose another.</p>";
    } catch {
      body.innerHTML = "<p>The app does not answer. Check the connection, then try again.</p>";
    }
    body.removeAttribute("aria-busy");
    const query = parameters();
    query.set("audit", decodeURIComponent(path.split("/")[1]));
    query.set("image", path.split("/").pop());
    setAddress(query.toString(), true);
  };

  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const figure = event.target.closest("a[data-detail]");
    if (figure) {
      event.preventDefault();
      const board = figure.closest(".lk-grid") || document;
      links = [...board.querySelectorAll("a[data-detail]")];
      position = links.indexOf(figure);
      opener = figure;
      show(figure.dataset.detail);
      return;
    }
    const view = event.target.closest("a.lk-view");
    if (view && navigate) {
      event.preventDefault();
      if (dialog && dialog.open) dialog.close();
      setAddress(new URL(view.href).search.slice(1), false);
      navigate(location.search);
    }
  });

  window.addEventListener("popstate", () => {
    if (dialog && dialog.open) dialog.close();
    if (navigate) navigate(location.search);
    remember();
  });

  const openFromAddress = () => {
    const query = parameters();
    const [audit, image] = [query.get("audit"), query.get("image")];
    if (image && audit) {
      links = []; position = -1;
      show(`detail/${encodeURIComponent(audit)}/${encodeURIComponent(image)}`);
    }
  };
  // Wait for the page that Gradio draws: the dialog lives inside it, so that its colours hold.
  const wait = setInterval(() => {
    if (document.querySelector("#lk-tabs")) { clearInterval(wait); remember(); openFromAddress(); }
  }, 100);
})();
