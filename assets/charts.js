// The map of the regions (a WebGL scatter with a selection) and the PNG of charts. Both draw with Plotly, which Gradio brings.
(() => {
  "use strict";
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#A6761D", "#666666", "#B3B300"];
  const REST = "#9a9a9a";
  const MOST_DRAWN_FLAT = 20000; // without WebGL
  const CORNERS = 40; // of a lasso that an address holds

  const ready = async (wanted) => {
    for (let tries = 0; tries < 150; tries++) {
      const found = wanted();
      if (found) return found;
      await new Promise((done) => setTimeout(done, 100));
    }
    return null;
  };
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  const inWords = (number) => number.toLocaleString("en-US");

  // ---- the points ----
  const loaded = new Map(); // address -> promise of the points; the last two are kept
  const load = (address) => {
    if (!loaded.has(address)) {
      loaded.set(address, fetch(address).then(async (answer) => {
        if (!answer.ok) throw new Error("no points");
        return read(await answer.arrayBuffer());
      }));
      if (loaded.size > 2) loaded.delete(loaded.keys().next().value);
    }
    return loaded.get(address);
  };

  const read = (buffer) => {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const n = head.n;
    let at = 4 + length;
    const take = (Type, count) => {
      const values = new Type(buffer, at, count);
      at += values.byteLength;
      return values;
    };
    const points = { n, audit: head.audit, names: head.names, x: take(Float32Array, n), y: take(Float32Array, n) };
    points.ids = take(Uint8Array, 8 * n);
    for (const field of head.fields) points[field] = take(Uint16Array, n);
    return points;
  };

  const idOf = (points, i) => {
    let text = "";
    for (let byte = 8 * i; byte < 8 * i + 8; byte++) text += points.ids[byte].toString(16).padStart(2, "0");
    return text;
  };
  const nameOf = (points, field, i) => points.names[field][points[field][i]] ?? "another";

  // ---- selecting ----
  // The indices inside a polygon (x, y, x, y, ...; two corners are a box), by counting crossings to the right.
  const inside = (points, area) => {
    const xs = area.filter((_, i) => i % 2 === 0), ys = area.filter((_, i) => i % 2 === 1);
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const found = [];
    for (let i = 0; i < points.n; i++) {
      const x = points.x[i], y = points.y[i];
      if (x < left || x > right || y < low || y > high) continue;
      let within = xs.length === 2;
      if (!within) {
        for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
          if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) within = !within;
        }
      }
      if (within) found.push(i);
    }
    return found;
  };

  const areaOf = (event) => {
    if (event.range) {
      const { x, y } = event.range;
      return [x[0], y[0], x[1], y[1]].map((value) => Number(value.toPrecision(6)));
    }
    const { x, y } = event.lassoPoints;
    const step = Math.ceil(x.length / CORNERS);
    const area = [];
    for (let i = 0; i < x.length; i += step) area.push(Number(x[i].toPrecision(6)), Number(y[i].toPrecision(6)));
    return area;
  };

  const csvCell = (value) => {
    let text = String(value);
    if (/^[=+\-@\t\r\n]/.test(text) && typeof value !== "number") text = "'" + text;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csvOf = (points, chosen) => {
    const fields = Object.keys(points.names).filter((field) => field !== "region");
    const lines = [["id", ...fields, "region", "region_phrases", "x", "y"].join(",")];
    for (const i of chosen) {
      const cells = [idOf(points, i), ...fields.map((field) => nameOf(points, field, i)), points.region[i]];
      lines.push([...cells, nameOf(points, "region", i), points.x[i], points.y[i]].map(csvCell).join(","));
    }
    return "\ufeff" + lines.join("\n") + "\n";
  };
  const save = (href, name) => {
    const link = make("a");
    link.href = href;
    link.download = name;
    link.click();
  };

  // ---- one map ----
  const hasWebGL = () => Boolean(make("canvas").getContext("webgl"));
  const draw = async (root) => {
    const plot = root.querySelector(".lk-map-plot");
    const say = (text) => plot.replaceChildren(make("p", "", text));
    let points;
    try {
      points = await load(root.dataset.points);
    } catch (error) {
      loaded.delete(root.dataset.points);
      say("The points of the map did not come. Reload the page to try again.");
      return;
    }
    const Plotly = await ready(() => window.Plotly);
    if (!Plotly) { say("The library that draws the map did not come. Reload the page to try again."); return; }
    const flat = !hasWebGL();
    if (flat && points.n > MOST_DRAWN_FLAT) {
      say("This browser has no WebGL, which a map of so many images needs. The cards below show the regions without it.");
      return;
    }
    await ready(() => plot.clientWidth > 0);
    const map = new ImageMap(root, plot, points, Plotly, flat ? "scatter" : "scattergl");
    root.likenessMap = map;
    await map.paint();
    map.listen();
    map.restore();
  };

  class ImageMap {
    constructor(root, plot, points, Plotly, type) {
      Object.assign(this, { root, plot, points, Plotly, type, chosen: [], page: 0, mode: "lasso" });
      this.colour = root.querySelector(".lk-map-colour");
      this.card = make("div", "lk-map-hover");
      this.card.hidden = true;
    }

    groups() { // the categories that the points are coloured by, most frequent first; the rest are one
      const codes = this.points[this.colour.value], counts = new Map();
      for (const code of codes) counts.set(code, (counts.get(code) || 0) + 1);
      const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
      const names = this.points.names[this.colour.value];
      const plain = order.filter((code) => names[code] !== "unspecified").slice(0, COLOURS.length);
      const at = new Map(plain.map((code, index) => [code, index]));
      const members = [...plain.map(() => []), []];
      for (let i = 0; i < codes.length; i++) members[at.get(codes[i]) ?? plain.length].push(i);
      const made = plain.map((code, i) => ({ name: names[code] ?? "another", colour: COLOURS[i], members: members[i] }));
      const rest = members[plain.length];
      const word = order.length - plain.length > 1 || !names.includes("unspecified") ? "all others" : "not in the prompt";
      return rest.length ? [{ name: word, colour: REST, members: rest }, ...made] : made;
    }

    async paint() {
      const groups = this.groups(), { x, y } = this.points;
      const size = this.points.n > 20000 ? 3 : this.points.n > 3000 ? 4 : 7;
      const marked = new Uint8Array(this.points.n);
      for (const i of this.chosen) marked[i] = 1;
      const data = groups.map((group) => {
        const trace = {
          type: this.type, mode: "markers", hoverinfo: "none", name: escaped(group.name), customdata: group.members,
          x: Float32Array.from(group.members, (i) => x[i]), y: Float32Array.from(group.members, (i) => y[i]),
          marker: { size, color: group.colour, opacity: 0.8 },
          selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.12 } },
        };
        if (this.chosen.length) trace.selectedpoints = group.members.flatMap((i, at) => (marked[i] ? [at] : []));
        return trace;
      });
      const dark = document.body.classList.contains("dark");
      const axis = { visible: false, showgrid: false, zeroline: false };
      const layout = {
        height: Math.min(560, Math.max(320, Math.round(this.plot.clientWidth * 0.7))), margin: { l: 0, r: 0, t: 0, b: 0 },
        xaxis: { ...axis }, yaxis: { ...axis, scaleanchor: "x" }, showlegend: false, hovermode: "closest",
        dragmode: this.mode, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", uirevision: "kept",
        newselection: { line: { color: dark ? "#ffffff" : "#222222", width: 2, dash: "solid" } },
      };
      if (!this.drawn) this.plot.replaceChildren();
      this.plot.style.height = `${layout.height}px`;
      this.drawn = true;
      await this.Plotly.react(this.plot, data, layout, { displayModeBar: false, responsive: true, scrollZoom: true });
      if (this.card.parentElement !== this.root) this.root.append(this.card);
      this.legend(groups);
    }

    legend(groups) {
      const rest = (group) => Number(group.colour === REST);
      const items = [...groups].sort((a, b) => rest(a) - rest(b)).map((group) => {
        const item = make("li"), dot = make("span", "", "●");
        dot.style.color = group.colour;
        dot.setAttribute("aria-hidden", "true");
        item.append(dot, ` ${group.name} (${inWords(group.members.length)})`);
        return item;
      });
      this.root.querySelector(".lk-map-legend").replaceChildren(...items);
    }

    listen() {
      this.plot.on("plotly_selected", (event) => {
        if (!event || !(event.range || event.lassoPoints)) return;
        const area = areaOf(event);
        this.choose(inside(this.points, area), "in the area drawn on the map", Boolean(event.lassoPoints)); // a box is exact
        this.remember({ area: area.join(","), region: "" });
      });
      this.plot.on("plotly_hover", (event) => this.hover(event));
      this.plot.on("plotly_unhover", () => { this.card.hidden = true; });
      this.plot.on("plotly_click", (event) => {
        this.hover(event);
        this.choose([event.points[0].customdata], "chosen on the map", false);
      });
      this.colour.addEventListener("change", () => {
        this.paint();
        this.remember({ colour: this.colour.value === "region" ? "" : this.colour.value });
      });
      this.root.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        if (button.dataset.mode) this.drag(button.dataset.mode);
        if ("reset" in button.dataset) this.Plotly.relayout(this.plot, { "xaxis.autorange": true, "yaxis.autorange": true });
        if (button.dataset.step) { this.page += Number(button.dataset.step); this.gallery(); }
        if ("clear" in button.dataset) { this.choose([], ""); this.remember({ area: "", region: "" }); }
        if ("csv" in button.dataset) {
          const file = new Blob([csvOf(this.points, this.chosen)], { type: "text/csv" });
          save(URL.createObjectURL(file), "likeness-selection.csv");
        }
      });
    }

    drag(mode) {
      this.mode = mode;
      for (const button of this.root.querySelectorAll("[data-mode]")) {
        button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
      }
      this.Plotly.relayout(this.plot, { dragmode: mode });
    }

    hover(event) {
      const i = event.points[0].customdata, { points } = this;
      const picture = make("img");
      picture.src = `image/${encodeURIComponent(points.audit)}/${idOf(points, i)}/thumbnail`;
      picture.alt = "";
      const lines = [nameOf(points, "subject", i), nameOf(points, "system", i), `region ${nameOf(points, "region", i)}`];
      this.card.replaceChildren(picture, ...lines.map((line) => make("div", "", line)));
      const box = this.root.getBoundingClientRect(), at = event.points[0].bbox || { x0: 0, y0: 0 };
      const place = this.plot.getBoundingClientRect();
      const x = place.left - box.left + at.x0, y = place.top - box.top + at.y0;
      this.card.style.left = `${Math.max(0, Math.min(x + 14, box.width - 150))}px`;
      this.card.style.top = `${Math.max(0, y + 14)}px`;
      this.card.hidden = false;
    }

    async choose(indices, where, mark = true) { // pictures first: drawing all points anew takes longer
      this.chosen = indices;
      this.where = where;
      this.page = 0;
      await this.gallery();
      if (mark && this.chosen === indices) this.mark();
    }

    mark() {
      const marked = new Uint8Array(this.points.n);
      for (const i of this.chosen) marked[i] = 1;
      const picked = this.plot.data.map((trace) => {
        if (!this.chosen.length) return null;
        const found = [];
        for (let at = 0; at < trace.customdata.length; at++) if (marked[trace.customdata[at]]) found.push(at);
        return found;
      });
      this.Plotly.update(this.plot, { selectedpoints: picked }, this.chosen.length ? {} : { selections: [] });
    }

    async gallery() {
      const said = this.root.querySelector(".lk-map-chosen"), board = this.root.querySelector(".lk-map-gallery");
      const size = Number(this.root.dataset.page), pages = Math.max(1, Math.ceil(this.chosen.length / size));
      this.page = Math.min(Math.max(this.page, 0), pages - 1);
      said.replaceChildren();
      if (!this.where) { board.replaceChildren(); return; }
      const n = this.chosen.length, start = this.page * size;
      const head = make("b", "", `${inWords(n)} of ${inWords(this.points.n)} ${this.points.n === 1 ? "image" : "images"}`);
      said.append(head, ` ${this.where}${n > size ? `; ${inWords(start + 1)} to ${inWords(Math.min(start + size, n))} shown` : ""}. `);
      const button = (text, name, value, enabled = true) => {
        const made = make("button", "lk-button", text);
        made.type = "button";
        made.dataset[name] = value;
        made.disabled = !enabled;
        said.append(made, " ");
      };
      if (n > size) {
        button("Previous images", "step", "-1", this.page > 0);
        button("Next images", "step", "1", this.page < pages - 1);
      }
      if (n) button("Download selection (CSV)", "csv", "");
      button("Clear selection", "clear", "");
      if (!n) { board.replaceChildren(); return; }
      const ids = this.chosen.slice(start, start + size).map((i) => idOf(this.points, i)).join(",");
      const asked = (this.asked = `${this.root.dataset.gallery}&ids=${ids}`);
      let html = "<p>The pictures did not come. Select again, or reload the page.</p>";
      try {
        const answer = await fetch(asked);
        if (answer.ok && answer.headers.get("X-Likeness") === "gallery") html = await answer.text();
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // a TypeError is what fetch makes of a lost connection
      }
      if (asked === this.asked) board.innerHTML = html;
    }

    remember(changes) { // puts what the visitor did on the map into the address
      const query = new URLSearchParams(location.search);
      for (const [name, value] of [...new URLSearchParams(this.root.dataset.view), ...Object.entries(changes)]) {
        if (value === "") query.delete(name);
        else query.set(name, value);
      }
      query.delete("image");
      window.likeness.push(query.toString());
    }

    restore() { // what the address asks for: a region's images, or those in an area
      const query = new URLSearchParams(location.search);
      const from = (name) => (query.get("tab") === "regions" ? query.get(name) : this.root.dataset[name]) || "";
      const region = Number(from("region") || -1);
      const area = from("area").split(",").map(Number);
      const colour = from("colour") || "region";
      if (colour !== this.colour.value && [...this.colour.options].some((option) => option.value === colour)) {
        this.colour.value = colour;
        this.paint();
      }
      if (region >= 0 && region < this.points.names.region.length) {
        const found = [];
        for (let i = 0; i < this.points.n; i++) if (this.points.region[i] === region) found.push(i);
        this.choose(found, `in region ${this.points.names.region[region]}`);
      } else if (area.length >= 4 && area.length % 2 === 0 && area.every(Number.isFinite)) {
        this.choose(inside(this.points, area), "in the area drawn on the map");
      } else if (this.where) this.choose([], "");
    }
  }

  // ---- the PNG of a chart: the same figure on white, with its question and source written on it ----
  const picture = async (chart, name) => {
    const layout = JSON.parse(JSON.stringify(chart.layout)), data = JSON.parse(JSON.stringify(chart.data));
    const { question, source, height } = layout.meta;
    const shared = data.filter((trace) => trace.showlegend !== false && trace.name).length > 1;
    const extra = shared ? 80 : 50, below = 24 + 16 * source.split("<br>").length;
    Object.assign(layout, { paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", autosize: false, width: 900, showlegend: shared });
    layout.margin.t += extra;
    layout.margin.b += below;
    layout.height = height + extra + below; // Gradio resizes the chart, and Plotly then drops layout.height
    layout.title = { text: question, x: 0.02, xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 18 }, font: { size: 18 } };
    if (shared) layout.legend = { ...layout.legend, orientation: "h", x: 0, xref: "container", yref: "container", yanchor: "top", y: 1 - 50 / layout.height };
    layout.annotations = (layout.annotations || []).concat([{ text: "Source: " + source, align: "left", showarrow: false, x: 0,
      xref: "paper", xanchor: "left", xshift: -layout.margin.l + 18, y: 0, yref: "paper", yanchor: "bottom",
      yshift: -layout.margin.b + 10, font: { size: 12 } }]);
    const size = { format: "png", width: 900, height: layout.height, scale: 2 };
    save(await window.Plotly.toImage({ data, layout }, size), name);
  };

  const nameCharts = () => {
    for (const chart of document.querySelectorAll(".lk-plot:not([role])")) {
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", "Chart; its question stands above it, its numbers are in the table or CSV below it");
    }
    for (const svg of document.querySelectorAll(".lk-plot svg:not([aria-hidden])")) svg.setAttribute("aria-hidden", "true");
  };

  window.likenessCharts = {
    watch: (element) => {
      const look = () => {
        for (const root of element.querySelectorAll(".lk-map:not([data-started])")) {
          root.dataset.started = "";
          draw(root);
        }
        nameCharts();
      };
      new MutationObserver(look).observe(element, { childList: true, subtree: true });
      look();
    },
    png: (element) => {
      element.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-chart], button[data-figure]");
        if (!button || !window.Plotly) return;
        if (button.dataset.figure) { // a picture that is no chart on the page: its figure comes from the server
          fetch(button.dataset.figure).then((answer) => answer.json()).then((figure) => picture(figure, button.dataset.png));
          return;
        }
        const chart = document.querySelector(`#${button.dataset.chart} .js-plotly-plot`);
        if (chart) picture(chart, button.dataset.png);
      });
      new MutationObserver(nameCharts).observe(element, { childList: true, subtree: true });
    },
  };
  window.addEventListener("popstate", () => {
    for (const root of document.querySelectorAll(".lk-map")) if (root.likenessMap) root.likenessMap.restore();
  });
})();
