"use strict";
// Shows pictures at the depth that they were sent in, with window and level, zoom, and
// two pictures beside each other, under a slider, or as their difference.
//
//   <div class="picture" data-pictures='[{"name":"image 1","url":"/raw/1","beside":"/raw/2"}]'
//        data-names="as sent|unchanged" data-mode="one"></div>
//
// url and beside answer with what serve.Samples writes; beside may be left out. Text
// inside the element stands there until the script has run.
(() => {
  const make = (tag, props = {}, ...inside) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(props)) {
      if (k in e) e[k] = v; else e.setAttribute(k, v);
    }
    e.append(...inside);
    return e;
  };

  const sources = new Map(); // the last few pictures, by address
  function load(url) {
    if (!sources.has(url)) {
      const p = fetch(url, { credentials: "same-origin" }).then(async res => {
        if (!res.ok) throw new Error((await res.text()).trim().slice(0, 200) || "status " + res.status);
        return read(await res.arrayBuffer());
      });
      p.catch(() => sources.delete(url));
      sources.set(url, p);
      while (sources.size > 6) sources.delete(sources.keys().next().value);
    }
    return sources.get(url);
  }

  function read(buffer) {
    const head = new DataView(buffer);
    if (head.getUint32(0) !== 0x41535031) throw new Error("this is no picture");
    const w = head.getUint32(4, true), h = head.getUint32(8, true), channels = head.getUint8(12), bits = head.getUint8(13);
    const n = w * h * channels;
    const values = bits === 16 ? new Uint16Array(buffer, 16, n) : new Uint8Array(buffer, 16, n);
    let low = 0, high = 255;
    if (bits === 16) { // few scanners use all 16
      low = 65535; high = 0;
      for (let i = 0; i < n; i++) { const v = values[i]; if (v < low) low = v; if (v > high) high = v; }
      if (high <= low) { low = 0; high = 65535; }
    }
    return { w, h, channels, bits, values, low, high };
  }

  // A source on a canvas of its own size, through a window.
  function paint(src, low, high) {
    const all = 1 << src.bits, table = new Uint8ClampedArray(all), span = Math.max(high - low, 1e-9);
    for (let v = 0; v < all; v++) table[v] = (v - low) / span * 255; // rounds and clamps
    const c = make("canvas", { width: src.w, height: src.h }), ctx = c.getContext("2d");
    const out = ctx.createImageData(src.w, src.h), px = out.data, v = src.values;
    if (src.channels === 1) {
      for (let i = 0, o = 0; i < v.length; i++, o += 4) { px[o] = px[o + 1] = px[o + 2] = table[v[i]]; px[o + 3] = 255; }
    } else {
      for (let i = 0, o = 0; i < v.length; i += 3, o += 4) { px[o] = table[v[i]]; px[o + 1] = table[v[i + 1]]; px[o + 2] = table[v[i + 2]]; px[o + 3] = 255; }
    }
    ctx.putImageData(out, 0, 0);
    return c;
  }

  // How far two sources of one size differ, brightest where most.
  function difference(a, b) {
    if (a.w !== b.w || a.h !== b.h) return null;
    const out = new Uint16Array(a.w * a.h), unit = s => 255 / ((1 << s.bits) - 1);
    let most = 0;
    for (let i = 0; i < out.length; i++) {
      let d = 0;
      for (let k = 0; k < 3; k++) {
        const x = a.values[a.channels === 1 ? i : 3 * i + k] * unit(a), y = b.values[b.channels === 1 ? i : 3 * i + k] * unit(b);
        d = Math.max(d, Math.abs(x - y));
      }
      out[i] = Math.round(d * 256);
      if (out[i] > most) most = out[i];
    }
    return { w: a.w, h: a.h, channels: 1, bits: 16, values: out, low: 0, high: Math.max(most, 256), most: most / 256 };
  }

  const help = "Drag to change the grey values, turn the wheel to zoom. Keys while the picture has the focus: arrows move it, plus and minus zoom, shift and arrows change the grey values, 0 resets.";

  class Picture {
    constructor(root) {
      this.root = root;
      this.list = JSON.parse(root.dataset.pictures);
      this.names = (root.dataset.names || "as sent|unchanged").split("|");
      this.mode = root.dataset.mode || "one";
      this.drag = "grey";
      this.at = 0;
      this.split = 0.5;
      this.pointers = new Map();
      this.build();
      this.show(0);
    }

    build() {
      const button = (text, label, act) => { const b = make("button", { type: "button", textContent: text }); if (label) b.setAttribute("aria-label", label); b.addEventListener("click", act); return b; };
      this.canvas = make("canvas", { tabIndex: 0, title: help });
      this.canvas.setAttribute("role", "img");
      this.said = make("p", { className: "picture-said" });
      this.said.setAttribute("role", "status");
      this.readout = make("p", { className: "picture-readout" });
      this.bar = make("div", { className: "picture-bar" });
      this.bar.setAttribute("role", "group");
      this.bar.setAttribute("aria-label", "How the picture is shown");
      if (this.list.length > 1) {
        const back = button("‹", "previous picture", () => this.show(this.at - 1)), on = button("›", "next picture", () => this.show(this.at + 1));
        this.where = make("span", { className: "picture-where" });
        this.bar.append(back, this.where, on);
      }
      this.grey = button("Grey values", "", () => this.dragging("grey"));
      this.move = button("Move", "", () => this.dragging("move"));
      this.bar.append(this.grey, this.move, button("−", "zoom out", () => this.zoom(1 / 1.25)), button("+", "zoom in", () => this.zoom(1.25)), button("Reset", "", () => this.reset()));
      this.modes = make("select");
      this.modes.setAttribute("aria-label", "which picture");
      for (const [value, text] of [["one", this.names[0]], ["other", this.names[1]], ["beside", "side by side"], ["slider", "slider"], ["difference", "difference"]]) {
        this.modes.append(make("option", { value, textContent: text }));
      }
      this.modes.addEventListener("change", () => this.setMode(this.modes.value));
      this.slider = make("input", { type: "range", min: 0, max: 100, value: 50 });
      this.slider.setAttribute("aria-label", "how much of the picture as sent, in percent");
      this.slider.addEventListener("input", () => { this.split = this.slider.value / 100; this.draw(); });
      this.bar.append(this.modes, this.slider);
      this.root.replaceChildren(this.canvas, this.bar, this.readout, this.said);
      this.dragging("grey");
      this.listen();
      new ResizeObserver(() => this.draw()).observe(this.canvas);
    }

    dragging(what) {
      this.drag = what;
      this.grey.setAttribute("aria-pressed", what === "grey");
      this.move.setAttribute("aria-pressed", what === "move");
    }

    async show(n) {
      this.at = (n + this.list.length) % this.list.length;
      const p = this.list[this.at], label = p.name || "picture";
      if (this.where) this.where.textContent = `${this.at + 1} of ${this.list.length}`;
      this.canvas.setAttribute("aria-label", label);
      this.modes.hidden = !p.beside;
      if (!p.beside) this.mode = "one";
      this.root.dataset.state = "loading";
      this.said.textContent = "The image is loading.";
      try {
        const [a, b] = await Promise.all([load(p.url), p.beside ? load(p.beside) : null]);
        if (this.list[this.at] !== p) return;
        this.a = a; this.b = b;
        this.d = undefined;
        this.said.textContent = "";
        this.root.dataset.state = "shown";
        this.reset();
      } catch (e) {
        if (this.list[this.at] !== p) return;
        this.a = this.b = null;
        this.root.dataset.state = "failed";
        this.said.textContent = `The picture is not shown: ${e.message}. `;
        this.said.append(make("button", { type: "button", textContent: "Try again", onclick: () => this.show(this.at) }));
        this.draw();
      }
    }

    setMode(mode) {
      this.mode = mode;
      if (mode === "difference" && this.d === undefined) this.d = difference(this.a, this.b);
      this.said.textContent = mode !== "difference" ? "" : this.d ? `The largest difference is ${this.d.most.toFixed(1)} of 255.` : "The two pictures differ in size.";
      this.stale = true;
      this.draw();
    }

    reset() {
      if (!this.a) return;
      this.low = this.a.low; this.high = this.a.high;
      this.scale = 1; this.x = 0.5; this.y = 0.5; this.split = 0.5;
      this.slider.value = 50;
      this.stale = true;
      this.setMode(this.mode);
    }

    // Asks for a new drawing, once a frame.
    draw() {
      if (this.asked) return;
      this.asked = true;
      requestAnimationFrame(() => { this.asked = false; this.redraw(); });
    }

    ready() {
      if (!this.stale) return;
      this.stale = false;
      this.pa = paint(this.a, this.low, this.high);
      // The window means the same share of another depth.
      const k = this.b ? ((1 << this.b.bits) - 1) / ((1 << this.a.bits) - 1) : 1;
      this.pb = this.b ? paint(this.b, this.low * k, this.high * k) : null;
      this.pd = this.d ? paint(this.d, this.d.low, this.d.high) : null;
    }

    redraw() {
      const c = this.canvas, ratio = window.devicePixelRatio || 1;
      const w = Math.round(c.clientWidth * ratio), h = Math.round(c.clientHeight * ratio);
      if (!w || !h) return;
      if (c.width !== w || c.height !== h) { c.width = w; c.height = h; }
      const ctx = c.getContext("2d");
      ctx.fillStyle = "#000";
      ctx.fillRect(0, 0, w, h);
      if (!this.a) return;
      this.ready();
      this.modes.value = this.mode;
      this.slider.hidden = this.mode !== "slider";
      const one = (src, left, right, from = left, to = right) => {
        const s = this.fit(right - left, h) * this.scale;
        ctx.save();
        ctx.beginPath();
        ctx.rect(from, 0, to - from, h);
        ctx.clip();
        ctx.imageSmoothingEnabled = s < 2; // single samples can be told apart
        ctx.drawImage(src, (left + right) / 2 - this.x * this.a.w * s, h / 2 - this.y * this.a.h * s, this.a.w * s, this.a.h * s);
        ctx.restore();
      };
      const line = x => { ctx.fillStyle = "#fc0"; ctx.fillRect(Math.round(x) - ratio, 0, 2 * ratio, h); };
      switch (this.mode) {
        case "other": one(this.pb, 0, w); break;
        case "beside": one(this.pa, 0, w / 2); one(this.pb, w / 2, w); line(w / 2); break;
        case "slider": one(this.pb, 0, w); one(this.pa, 0, w, 0, w * this.split); line(w * this.split); break;
        case "difference": if (this.pd) one(this.pd, 0, w); break;
        default: one(this.pa, 0, w);
      }
      this.tell();
    }

    fit(w, h) { return Math.min(w / this.a.w, h / this.a.h); }
    pane() { return this.canvas.width / (this.mode === "beside" ? 2 : 1); }

    tell(x, y) {
      const shown = this.fit(this.pane(), this.canvas.height) * this.scale;
      let text = `${this.a.w} × ${this.a.h}, ${this.a.bits} bits · grey values ${Math.round(this.low)} to ${Math.round(this.high)} · ${Math.round(100 * shown)} %`;
      if (x >= 0 && y >= 0 && x < this.a.w && y < this.a.h) {
        const i = (y * this.a.w + x) * this.a.channels;
        text += ` · (${x}, ${y}): ${Array.from(this.a.values.slice(i, i + this.a.channels)).join(", ")}`;
      }
      this.readout.textContent = text;
    }

    // The place in the picture under a point of the canvas.
    place(ev) {
      const box = this.canvas.getBoundingClientRect(), ratio = this.canvas.width / box.width, pane = this.pane();
      const px = ((ev.clientX - box.left) * ratio) % pane, py = (ev.clientY - box.top) * ratio, s = this.fit(pane, this.canvas.height) * this.scale;
      return [(px - pane / 2) / s + this.x * this.a.w, (py - this.canvas.height / 2) / s + this.y * this.a.h];
    }

    zoom(by, ev) {
      if (!this.a) return;
      const before = ev && this.place(ev);
      this.scale = Math.min(40, Math.max(0.5, this.scale * by));
      if (before) { // what is under the pointer stays there
        const after = this.place(ev);
        this.x += (before[0] - after[0]) / this.a.w;
        this.y += (before[1] - after[1]) / this.a.h;
      }
      this.keep();
    }

    pan(dx, dy) { // in CSS pixels
      const s = this.fit(this.pane(), this.canvas.height) * this.scale * this.canvas.clientWidth / this.canvas.width;
      this.x -= dx / s / this.a.w;
      this.y -= dy / s / this.a.h;
      this.keep();
    }

    keep() {
      this.x = Math.min(1, Math.max(0, this.x));
      this.y = Math.min(1, Math.max(0, this.y));
      this.draw();
    }

    // Wider and brighter, in shares of the range.
    window(wider, brighter) {
      const all = this.a.high - this.a.low, top = (1 << this.a.bits) - 1;
      let centre = (this.low + this.high) / 2 - brighter * all, width = (this.high - this.low) * Math.exp(wider);
      width = Math.min(2 * top, Math.max(1, width));
      centre = Math.min(top, Math.max(0, centre));
      this.low = centre - width / 2; this.high = centre + width / 2;
      this.stale = true;
      this.draw();
    }

    listen() {
      const c = this.canvas;
      c.addEventListener("contextmenu", ev => ev.preventDefault());
      c.addEventListener("wheel", ev => { if (!this.a) return; ev.preventDefault(); this.zoom(Math.exp(-ev.deltaY / 400), ev); }, { passive: false });
      c.addEventListener("dblclick", () => this.reset());
      c.addEventListener("pointerdown", ev => { if (!this.a) return; c.setPointerCapture(ev.pointerId); this.pointers.set(ev.pointerId, { x: ev.clientX, y: ev.clientY, pan: this.drag === "move" || ev.button > 0 || ev.shiftKey }); });
      c.addEventListener("pointermove", ev => {
        if (!this.a) return;
        const p = this.pointers.get(ev.pointerId);
        if (!p) { const [x, y] = this.place(ev); this.tell(Math.floor(x), Math.floor(y)); return; }
        const dx = ev.clientX - p.x, dy = ev.clientY - p.y;
        if (this.pointers.size === 2) {
          const [a, b] = [...this.pointers.values()], before = Math.hypot(a.x - b.x, a.y - b.y);
          p.x = ev.clientX; p.y = ev.clientY;
          this.pan(dx / 2, dy / 2);
          if (before > 0) this.zoom(Math.hypot(a.x - b.x, a.y - b.y) / before);
          return;
        }
        p.x = ev.clientX; p.y = ev.clientY;
        if (p.pan) this.pan(dx, dy); else this.window(dx / 200, dy / 400);
      });
      for (const end of ["pointerup", "pointercancel"]) c.addEventListener(end, ev => this.pointers.delete(ev.pointerId));
      c.addEventListener("keydown", ev => {
        if (!this.a || ev.ctrlKey || ev.metaKey || ev.altKey) return;
        const shift = ev.shiftKey, arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[ev.key];
        if (arrow && shift) this.window(-arrow[0] / 10, arrow[1] / 40);
        else if (arrow) this.pan(arrow[0] * 30, arrow[1] * 30);
        else if (ev.key === "+" || ev.key === "=") this.zoom(1.25);
        else if (ev.key === "-") this.zoom(1 / 1.25);
        else if (ev.key === "0") this.reset();
        else return;
        ev.preventDefault();
      });
    }
  }

  const begin = () => {
    for (const root of document.querySelectorAll(".picture[data-pictures]")) {
      if (!root.picture) root.picture = new Picture(root);
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin); else begin();
})();
