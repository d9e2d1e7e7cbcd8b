// The page of a front: a slider, rings on the drawing, a table to copy. No request leaves it.
"use strict";
const $ = id => document.getElementById(id), SVG = "http://www.w3.org/2000/svg";
let data = JSON.parse($("data").textContent), epsilon = null;
const number = v => typeof v === "number" ? String(+v.toPrecision(4)) : v === null ? "" : String(v);
const within = (v, low, high) => Math.min(Math.max(v, low), high);
const share = e => Math.log(Math.max(e, data.smallest) / data.low) / Math.log(data.high / data.low);
function made(name, attributes, parent) {
  const found = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) found.setAttribute(k, v);
  parent.append(found);
}
function mark(points) {
  for (const svg of document.querySelectorAll("#drawing svg")) {
    svg.querySelector("g.now")?.remove();
    const now = document.createElementNS(SVG, "g"), wide = svg.viewBox.baseVal.width - data.left - data.right;
    now.setAttribute("class", "now"); svg.append(now);
    const x = e => data.left + wide * within(share(e), 0, 1);
    const high = u => within((u - data.bottom) / (data.top - data.bottom), 0, 1);
    const y = u => data.ceiling + (data.floor - data.ceiling) * (1 - high(u));
    made("line", {x1: x(epsilon), x2: x(epsilon), y1: data.ceiling, y2: data.floor, stroke: "currentColor",
      "stroke-width": 1.5, "stroke-dasharray": "2 3"}, now);
    for (const p of points) if (p) made("circle", {cx: x(p.epsilon), cy: y(p.utility), r: 9, fill: "none",
      stroke: "currentColor", "stroke-width": 2}, now);
  }
}
function element(name, text, kind) {
  const found = document.createElement(name); found.textContent = text; if (kind) found.className = kind; return found;
}
function table(rows) {
  const found = document.createElement("table");
  rows.forEach((cells, i) => { const tr = found.insertRow(); if (!i) tr.className = "head";
    cells.forEach((text, k) => { const c = element(!i || !k ? "th" : "td", text, k ? "n" : "");
      if (c.tagName === "TH") c.scope = i ? "row" : "col"; tr.append(c); }); });
  return found;
}
function behind(f, at) {
  const p = f.points[at], next = f.points[at + 1], told = [];
  if (p.runs.length > 1) told.push(`${p.runs.length} runs: ${p.runs.map(number).join(", ")}.`);
  else told.push("One run: its spread is not known.");
  if (p.low != null) told.push(`The mean of many runs lies between ${number(p.low)} and ${number(p.high)}, with 95% confidence.`);
  if (p.deviation) told.push(`The utility carries noise of standard deviation ${number(p.deviation)}.`);
  const gain = next ? next.utility - p.utility : 0;
  told.push(next ? `The next step, to epsilon ${number(next.epsilon)}, buys ${gain > 1e-9 ? number(gain) : "nothing"} more.`
    : "Nothing that was tested at a larger epsilon is better.");
  const grown = Math.exp(p.epsilon), but = f.delta ? " + " + f.delta : "";
  told.push(`At epsilon ${number(p.epsilon)} what is concluded from a release with probability p has, with one record ` +
    `another, at most probability ${grown < 1e6 ? number(grown) + " p" + but : "1: hardly a promise"}.`);
  told.push(`Epsilon is for ${f.label}${f.delta ? ", delta = " + f.delta : ""}.`);
  return `${f.name}: ${told.join(" ")}`;
}
function move() {
  const most = data.fronts.map(f => f.points.filter(p => p.epsilon <= epsilon * (1 + 1e-9)).length - 1);
  const points = data.fronts.map((f, i) => f.points[most[i]]);
  const names = [...new Set(data.fronts.flatMap(f => f.points.flatMap(p => Object.keys(p.params))))];
  $("shown").textContent = number(epsilon);
  $("epsilon").setAttribute("aria-valuetext", "epsilon " + number(epsilon));
  document.querySelectorAll("tr.here").forEach(r => r.classList.remove("here"));
  const span = (a, b) => a == null ? "" : a === b ? number(a) : `${number(a)} to ${number(b)}`;
  const quantities = {epsilon: p => p.epsilon, utility: p => p.utility, "95% interval": p => span(p.low, p.high),
    runs: p => span(p.worst, p.best)};
  for (const c of new Set(data.fronts.map(f => f.cost).filter(c => c))) quantities[c] = p => p.cost ?? "";
  for (const n of names) quantities[n] = p => p.params[n] ?? "";
  const rows = [["at most this epsilon", ...data.fronts.map(f => f.name)]];
  for (const [name, of] of Object.entries(quantities))
    rows.push([name, ...points.map(p => p ? number(of(p)) : name === "epsilon" ? "none tested" : "")]);
  for (const p of points) if (p) $("all-" + p.row)?.classList.add("here");
  const why = points.map((p, i) => p ? element("p", behind(data.fronts[i], most[i]), "soft") : "");
  $("answer").replaceChildren(table(rows), ...why);
  mark(points);
}
function place(e) { epsilon = within(e, data.low, data.high); $("epsilon").value = 1000 * share(epsilon); move(); }
function step(side) {
  const all = data.fronts.flatMap(f => f.points.map(p => Math.max(p.epsilon, data.smallest))).sort((a, b) => a - b);
  const next = side > 0 ? all.find(e => e > epsilon * (1 + 1e-9)) : all.findLast(e => e < epsilon * (1 - 1e-9));
  if (next) place(next);
}
$("epsilon").addEventListener("input", event => {
  epsilon = data.low * Math.pow(data.high / data.low, event.target.value / 1000); move(); });
$("typed").addEventListener("change", event => { const e = parseFloat(event.target.value); if (e > 0) place(e); });
function told(button, text) { const was = button.textContent; button.textContent = text;
  setTimeout(() => { button.textContent = was; }, 1500); }
function copy(button) {
  const rows = [...document.querySelectorAll("#all tr")].map(r => [...r.cells].map(c => c.textContent).join("\t"));
  const area = document.createElement("textarea");
  area.value = [data.audience, data.kind, ...rows].join("\n"); document.body.append(area); area.select();
  const done = document.execCommand("copy"); area.remove(); button.focus(); told(button, done ? "copied" : "not allowed here");
}
function save() {
  const svg = document.querySelector("#drawing svg.broad").cloneNode(true), ink = getComputedStyle(document.body);
  const tall = 2 * svg.viewBox.baseVal.height; svg.setAttribute("width", 1520); svg.setAttribute("height", tall); svg.style.color = ink.color;
  const image = new Image();
  image.onload = () => { const canvas = document.createElement("canvas"); canvas.width = 1520; canvas.height = tall;
    const pen = canvas.getContext("2d"); pen.fillStyle = ink.backgroundColor; pen.fillRect(0, 0, 1520, tall);
    pen.drawImage(image, 0, 0); const link = document.createElement("a");
    link.download = "front.png"; link.href = canvas.toDataURL("image/png"); link.click(); };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
}
document.addEventListener("click", event => {
  const does = {copy: () => copy(event.target), png: save, less: () => step(-1), more: () => step(1)}[event.target.id];
  if (does) does();
});
window.tacitChanged = fresh => { data = fresh; place(epsilon); };
const middle = data.fronts.map(f => f.points[Math.floor(f.points.length / 2)]).find(p => p);
place(middle ? Math.max(middle.epsilon, data.smallest) : Math.sqrt(data.low * data.high));
