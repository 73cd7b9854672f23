"use strict";
// Saves every click of a rater at once, and again until the server has it. Clicks wait
// in the browser's storage, so that neither a lost connection nor a reload loses one.
(() => {
  const main = document.getElementById("main"), form = document.getElementById("form");
  const position = Number(main.dataset.position), key = "assay-rating-" + main.dataset.key;
  const saved = document.getElementById("saved"), wrong = document.getElementById("wrong"), submit = document.getElementById("submit"), remark = document.getElementById("remark");
  const fields = [...form.querySelectorAll("fieldset[data-field]")];

  // The clicks that the server does not have yet, oldest first.
  const waiting = {
    read() { try { return JSON.parse(localStorage.getItem(key) || "[]"); } catch { return this.own || []; } },
    write(list) { this.own = list; try { if (list.length) localStorage.setItem(key, JSON.stringify(list)); else localStorage.removeItem(key); } catch { /* no storage: the page alone keeps them */ } },
  };

  // The time that the case was in sight and has not been told yet.
  let since = document.visibilityState === "visible" ? performance.now() : null, seen = 0;
  const sight = () => {
    if (since !== null) { const now = performance.now(); seen += now - since; since = now; }
    const s = seen / 1000;
    seen = 0;
    return Math.round(s * 10) / 10;
  };
  const name = () => crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join("");
  const keep = click => waiting.write([...waiting.read(), { id: name(), position, seconds: sight(), ...click }]);

  const say = text => { if (saved.textContent !== text) saved.textContent = text; };
  const warn = text => { wrong.textContent = text; wrong.hidden = !text; };

  let busy = null, pause = 0, timer = 0;
  // Sends what waits, one after the other. One browser may have two pages open: the
  // server keeps a click once.
  const send = () => busy || (busy = (async () => {
    clearTimeout(timer);
    try {
      for (let list = waiting.read(); list.length; list = waiting.read()) {
        const click = list[0];
        say("Saving…");
        let res, k;
        try {
          res = await fetch("/save", { method: "POST", credentials: "same-origin", redirect: "error", keepalive: true, headers: { "Content-Type": "application/json", "X-Assay-Proof": main.dataset.proof }, body: JSON.stringify(click) });
          k = await res.json();
        } catch { res = null; }
        if (!res || res.status >= 500 || res.status === 429) {
          say("Not saved yet: there is no connection to the server. Your ratings wait in this browser and are sent again.");
          pause = Math.min(10000, pause * 2 || 500);
          timer = setTimeout(send, pause);
          return false;
        }
        pause = 0;
        if (res.status === 401 || res.status === 403) { // the click waits for the next session
          say("");
          warn(k.why);
          return false;
        }
        waiting.write(waiting.read().filter(c => c.id !== click.id));
        if (!res.ok) {
          warn("Not saved: " + k.why + ".");
          if (k.missing) point(k.missing);
          submit.disabled = false;
          continue;
        }
        if (click.kind === "submit") { location.assign("/case"); return true; }
      }
      say("All saved.");
      return true;
    } finally { busy = null; }
  })());

  const values = f => [...f.querySelectorAll("input:checked")].map(i => i.value);
  const open = () => fields.filter(f => "need" in f.dataset && !values(f).length);
  const first = f => f.querySelector("input:checked") || f.querySelector("input");
  function point(missing) {
    for (const f of fields) f.classList.toggle("open", missing.includes(f.dataset.field));
    const f = fields.find(f => missing.includes(f.dataset.field));
    if (f) first(f).focus();
  }

  form.addEventListener("change", ev => {
    const f = ev.target.closest("fieldset");
    if (!f) return;
    f.classList.remove("open");
    warn("");
    keep({ kind: "rate", field: f.dataset.field, value: values(f) });
    send();
  });
  let typed = 0;
  const write = () => {
    clearTimeout(typed);
    if (remark.value === remark.defaultValue) return;
    remark.defaultValue = remark.value;
    keep({ kind: "rate", field: "remark", value: [remark.value] });
    send();
  };
  remark.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(write, 1000); });
  remark.addEventListener("change", write);
  form.addEventListener("submit", ev => {
    ev.preventDefault();
    write();
    const left = open().map(f => f.dataset.field);
    if (left.length) {
      warn(left.length === 1 ? "One question is not answered yet. Where you cannot judge, say so." : `${left.length} questions are not answered yet. Where you cannot judge, say so.`);
      point(left);
      return;
    }
    if (submit.disabled) return;
    submit.disabled = true;
    keep({ kind: "submit" });
    send();
  });

  // Digits choose in the field that has the focus, or else in the first open one.
  document.addEventListener("keydown", ev => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.target.closest("textarea, select, input[type=text]")) return;
    if (ev.target.closest("canvas") && !/^[1-9c]$/.test(ev.key)) return;
    const f = ev.target.closest("fieldset[data-field]") || open()[0];
    const i = f && [...f.querySelectorAll("input")].find(i => i.dataset.press === ev.key.toLowerCase());
    if (!i) return;
    ev.preventDefault();
    i.focus();
    i.click();
    if ("any" in f.dataset) return;
    const rest = fields.slice(fields.indexOf(f) + 1), next = rest.find(f => !values(f).length) || open()[0];
    if (next) first(next).focus(); else submit.focus();
  });

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") { since = performance.now(); return; }
    if (since !== null) { seen += performance.now() - since; since = null; }
    if (seen > 500) { keep({ kind: "time" }); send(); }
  });
  addEventListener("online", () => { pause = 0; send(); });

  // What an earlier page could not send, of this case or the one before.
  (async () => {
    if (!waiting.read().length) return;
    const mine = waiting.read().some(c => c.kind !== "time");
    if (await send() && mine) location.reload();
  })();
  document.getElementById("title").focus({ preventScroll: true });
})();
