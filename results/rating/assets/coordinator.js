"use strict";
// Looks at the page again every five seconds, while it is in sight.
(() => {
  const again = async () => {
    if (document.visibilityState !== "visible") return;
    try {
      const res = await fetch("/coordinator", { credentials: "same-origin", redirect: "error" });
      if (!res.ok) return;
      const next = new DOMParser().parseFromString(await res.text(), "text/html").querySelector("main");
      const main = document.querySelector("main"), at = document.activeElement && document.activeElement.getAttribute("aria-label");
      if (!next) return;
      main.replaceWith(next);
      if (at) { const e = [...next.querySelectorAll("[tabindex]")].find(x => x.getAttribute("aria-label") === at); if (e) e.focus(); }
    } catch { /* no connection: the time on the page tells how old it is */ }
  };
  setInterval(again, 5000);
})();
