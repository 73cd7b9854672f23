"use strict";
// Keys for going on, and pages that are asked for again while a run goes on. Pages can be
// read without it.
(() => {
  const typing = e => e.closest && e.closest("input, select, textarea, canvas, .picture, [contenteditable]");
  const follow = rel => { const a = document.querySelector(`main a[rel=${rel}]`); if (a) a.click(); return !!a; };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || typing(e.target)) return;
    let done = false;
    switch (e.key) {
      case "ArrowLeft": done = follow("prev"); break;
      case "ArrowRight": done = follow("next"); break;
      case "u": done = follow("up"); break;
      case "/": { const s = document.getElementById("search"); if (s) { s.focus(); s.select(); done = true; } break; }
    }
    if (done) e.preventDefault();
  });

  const main = document.querySelector("main[data-live]");
  if (!main) return;
  const wait = Math.max(1000, Number(main.dataset.live) || 3000);
  async function again() {
    if (!document.hidden) {
      try {
        const res = await fetch(location.href, { credentials: "same-origin" });
        const next = res.ok && new DOMParser().parseFromString(await res.text(), "text/html").querySelector("main");
        const busy = main.contains(document.activeElement) || getSelection().toString() !== "";
        if (next && !busy && next.innerHTML !== main.innerHTML) main.replaceChildren(...next.childNodes);
        if (next && !next.hasAttribute("data-live")) return;
      } catch { /* the viewer has ended; its last state stays */ }
    }
    setTimeout(again, wait);
  }
  setTimeout(again, wait);
})();
