// Lists what is wrong with a page. One that is a file stands alone: it has no script
// and leads nowhere else, but to the other page of a report.
(() => {
const bad = [], vw = document.documentElement.clientWidth, alone = location.protocol === 'file:', print = matchMedia('print').matches;
for (const d of document.querySelectorAll('details')) d.open = true;
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.baseVal === undefined ? '.' + e.className : '') + ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
const shown = e => e.checkVisibility() && !e.closest('.skip');
const called = e => (e.getAttribute('aria-label') || (e.labels && [...e.labels].map(l => l.textContent).join(' ')) || e.textContent || '').trim();

if (document.documentElement.scrollWidth > vw) bad.push('the page is ' + document.documentElement.scrollWidth + ' wide, the window ' + vw);
if (!document.documentElement.lang) bad.push('the page has no language');
if (!document.title) bad.push('the page has no title');
for (const s of document.scripts) if (alone || !s.src) bad.push('a script stands in the page');
for (const e of document.querySelectorAll('body *')) {
  for (const a of e.attributes) if (/^on/i.test(a.name) || a.name === 'style') bad.push(name(e) + ' has ' + a.name);
  if (!shown(e) || e.closest('.wide') && e !== e.closest('.wide') || e.closest('.show') || e.closest('svg') && e.tagName !== 'svg') continue;
  const r = e.getBoundingClientRect();
  if (r.width && (r.right > vw + 1 || r.left < -1)) bad.push(name(e) + ' reaches from ' + r.left + ' to ' + r.right);
  if (alone && e.scrollWidth > e.clientWidth + 1 && e.clientWidth && getComputedStyle(e).overflowX !== 'visible' && !e.matches('.wide')) bad.push(name(e) + ' overflows');
}
for (const w of document.querySelectorAll('.wide')) {
  if (print || !alone) continue;
  w.scrollLeft = 1e6;
  const left = w.getBoundingClientRect().left;
  for (const th of w.querySelectorAll('tbody th')) if (Math.abs(th.getBoundingClientRect().left - left) > 2) { bad.push('the row names of ' + name(w) + ' leave with the rest'); break; }
  const span = w.querySelector('caption>span'), cap = span && span.getBoundingClientRect();
  if (cap && (cap.right > vw + 1 || cap.left < left - 1)) bad.push('the title of ' + name(w) + ' leaves');
  w.scrollLeft = 0;
  const th = w.querySelector('tbody th');
  if (th && w.scrollWidth > w.clientWidth && th.offsetWidth > 0.6 * w.clientWidth) bad.push('the row names of ' + name(w) + ' leave no room');
}
for (const e of document.querySelectorAll('button, a[href], input:not([type=hidden]), select, textarea, canvas, progress, [tabindex="0"]')) {
  if (!shown(e)) continue;
  if (!called(e) && !e.querySelector('img[alt]')) bad.push(name(e) + ' has no name');
  if (e.tabIndex > 0) bad.push(name(e) + ' leaves the order of the page');
  const r = (e.closest('label') || e).getBoundingClientRect();
  const inline = e.matches('progress, p a, header a, h3 a, th a') || alone && getComputedStyle(e).display === 'inline';
  if (!print && !inline && (r.width < 24 || r.height < 20)) bad.push(name(e) + ' is ' + r.width + ' x ' + r.height);
}
for (const i of document.querySelectorAll('input[type=radio], input[type=checkbox]')) {
  const f = i.closest('fieldset');
  if (!f || !f.querySelector('legend') || !f.querySelector('legend').textContent.trim()) bad.push(name(i) + ' is in no fieldset with a legend');
}
if (document.querySelector('form#form')) {
  if (!document.querySelector('[role=status]') || !document.querySelector('[role=alert]')) bad.push('nothing is told to who does not see it');
}
for (const a of document.querySelectorAll('a[href]')) {
  const to = a.getAttribute('href');
  const beside = /^(report|tables)\.html(#|$)/.test(to); // the other page of a report
  if (alone && !beside && !to.startsWith('#') || to.startsWith('#') && !document.getElementById(decodeURIComponent(a.hash.slice(1)))) bad.push(name(a) + ' leads nowhere');
}
for (const t of document.querySelectorAll('table')) {
  if (!t.caption || t.caption.textContent.trim().length < 4) bad.push(name(t) + ' has no title');
  for (const th of t.querySelectorAll('th')) if (!/^(col|row)$/.test(th.scope)) bad.push(name(th) + ' has no scope');
}
for (const f of document.querySelectorAll('figure')) {
  const cap = f.querySelector('figcaption');
  if (!cap || !cap.textContent.trim()) bad.push(name(f) + ' has no caption');
  for (const d of f.querySelectorAll('[role=img]')) if ((d.getAttribute('aria-label') || '').length < 20) bad.push(name(f) + ' has no alternative text');
  const drawings = [...f.querySelectorAll('.draw')].filter(shown);
  if (f.querySelector('.draw') && drawings.length !== 1) bad.push(name(f) + ' shows ' + drawings.length + ' drawings');
  for (const d of drawings) {
    const svg = d.querySelector('svg');
    if (!svg) { bad.push(name(f) + ' has no drawing'); continue; }
    const r = svg.getBoundingClientRect();
    for (const t of svg.querySelectorAll('text')) {
      const b = t.getBoundingClientRect();
      if (b.left < r.left - 2 || b.right > r.right + 2 || b.top < r.top - 2 || b.bottom > r.bottom + 2) bad.push('in ' + name(f) + ' the words "' + t.textContent + '" are cut');
      if (b.height && b.height < 8) bad.push('in ' + name(f) + ' the words "' + t.textContent + '" are ' + b.height + ' px tall');
    }
  }
}
for (const e of document.querySelectorAll('svg')) {
  if (!e.closest('[role=img]:not(svg)') && !e.getAttribute('aria-hidden') && (e.getAttribute('aria-label') || '').length < 10) bad.push(name(e) + ' has no alternative text');
}
for (const i of document.querySelectorAll('img')) {
  if (!i.hasAttribute('alt') || i.alt.length < 10 && !(i.closest('a') && called(i.closest('a')))) bad.push(name(i) + ' has no alternative text');
  if (shown(i) && (i.complete ? !i.naturalWidth : i.loading !== 'lazy')) bad.push('the picture ' + i.src.slice(0, 80) + ' is not shown');
}
let level = 0;
for (const h of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
  const l = +h.tagName[1];
  if (l > level + 1) bad.push(name(h) + ' follows a heading of level ' + level);
  level = l;
}
if (document.querySelectorAll('h1').length !== 1) bad.push('not one h1');
if (document.querySelectorAll('main').length !== 1) bad.push('not one main');
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size !== ids.length) bad.push('an id is there twice');

const rgb = s => { const m = s.match(/rgba?\(([^)]+)\)/); if (!m) return null; const v = m[1].split(/[ ,/]+/).map(Number); return v.length < 4 || v[3] > 0 ? v : null; };
const lum = c => { const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
const seen = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement, drawn = e.closest('svg');
  if (!walker.currentNode.data.trim() || !shown(e) || drawn && (!e.getAttribute('class') || e.closest('title'))) continue;
  const st = getComputedStyle(e), c = rgb(drawn ? st.fill : st.color), b = behind(e);
  if (!c) continue;
  const x = lum(c), y = lum(b), ratio = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), key = c + '/' + b;
  if (ratio < 4.5 && !seen.has(key)) { seen.add(key); bad.push(name(e) + ': contrast ' + ratio.toFixed(2)); }
}
if (print) {
  if (lum(behind(document.body)) < 0.9) bad.push('print is dark');
  if (document.querySelector('nav') && shown(document.querySelector('nav'))) bad.push('print shows the contents');
}
return bad;
})()
