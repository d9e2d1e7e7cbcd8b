"""Style and behaviour of the front's page. No request leaves it."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1a1c20; --soft: #5b6270; --page: #fff; --box: #f4f5f7; --mark: #0b5cad;
  --warn: #8a1c00; --warnbox: #fdeee8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #9aa3b2; --page: #14161a; --box: #1f2329;
  --mark: #6db3f8; --warn: #ffb59c; --warnbox: #3a2018; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.who { background: var(--warnbox); color: var(--warn); border: 2px solid; border-radius: .5rem; padding: .6rem 1rem;
  font-weight: 600; }
.who.private { background: var(--box); color: var(--ink); }
.box { background: var(--box); padding: .8rem 1.2rem; border-radius: .5rem; }
label { font-weight: 600; } input[type=range] { width: 100%; margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .6rem .25rem 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
tr + tr td { border-top: 1px solid color-mix(in srgb, var(--soft) 30%, transparent); }
tr.here td { background: color-mix(in srgb, var(--mark) 18%, transparent); }
svg { width: 100%; height: auto; } .soft { color: var(--soft); }
button { font: inherit; padding: .2rem .8rem; } :focus-visible { outline: 3px solid var(--mark); }
@media print { body { margin: 0; max-width: none; } button, input, .screen { display: none; }
  .who { border: 3px solid #000; color: #000; background: #fff; } }
"""

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const slider = document.getElementById("epsilon"), answer = document.getElementById("answer");
const shown = document.getElementById("shown"), drawing = document.querySelector("svg");
const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
line.setAttribute("y1", data.top); line.setAttribute("y2", data.floor);
line.setAttribute("stroke", "currentColor"); line.setAttribute("stroke-width", "1.5");
drawing.append(line);
const number = v => typeof v === "number" ? String(+v.toPrecision(4)) : String(v);
function row(table, cells, head) {
  const tr = table.insertRow();
  cells.forEach((text, i) => { const c = document.createElement(head || i === 0 ? "th" : "td");
    c.textContent = text; if (i > 0) c.className = "n"; tr.append(c); });
}
function move() {
  const share = slider.value / 1000, e = data.low * Math.pow(data.high / data.low, share);
  const x = data.left + data.width * share;
  line.setAttribute("x1", x); line.setAttribute("x2", x);
  const names = [...new Set(data.fronts.flatMap(f => f.points.flatMap(p => Object.keys(p.params))))];
  shown.textContent = number(e);
  slider.setAttribute("aria-valuetext", "epsilon " + number(e));
  const table = document.createElement("table");
  row(table, ["at most this epsilon", "epsilon", "utility", "worst run", "best run", ...names], true);
  document.querySelectorAll("tr.here").forEach(r => r.classList.remove("here"));
  data.fronts.forEach((f, i) => {
    const fit = f.points.filter(p => p.epsilon <= e * (1 + 1e-9)), p = fit[fit.length - 1];
    row(table, p ? [f.name, number(p.epsilon), number(p.utility), number(p.worst), number(p.best),
      ...names.map(n => n in p.params ? number(p.params[n]) : "")] : [f.name, "none tested"]);
    const at = document.getElementById("p" + i + "-" + (fit.length - 1));
    if (at) at.classList.add("here");
  });
  answer.replaceChildren(table);
}
slider.addEventListener("input", move);
move();
function told(button, text) { const was = button.textContent; button.textContent = text;
  setTimeout(() => { button.textContent = was; }, 1500); }
document.getElementById("copy").addEventListener("click", event => {
  const rows = [...document.querySelectorAll("#all tr")].map(r => [...r.cells].map(c => c.textContent).join("\\t"));
  const area = document.createElement("textarea");
  area.value = [data.audience, ...rows].join("\\n"); document.body.append(area); area.select();
  const done = document.execCommand("copy"); area.remove(); told(event.target, done ? "copied" : "not allowed here");
});
document.getElementById("png").addEventListener("click", () => {
  const copy = drawing.cloneNode(true), ink = getComputedStyle(document.body);
  copy.setAttribute("width", 1520); copy.setAttribute("height", 840); copy.style.color = ink.color;
  const image = new Image();
  image.onload = () => { const canvas = document.createElement("canvas"); canvas.width = 1520; canvas.height = 840;
    const pen = canvas.getContext("2d"); pen.fillStyle = ink.backgroundColor; pen.fillRect(0, 0, 1520, 840);
    pen.drawImage(image, 0, 0); const link = document.createElement("a");
    link.download = "front.png"; link.href = canvas.toDataURL("image/png"); link.click(); };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
});
"""
