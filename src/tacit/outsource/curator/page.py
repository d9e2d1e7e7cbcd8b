"""The curator's page: what was published, under which guarantee, who asked what, what is left, and a stop button.

The page itself holds nothing private. Its script asks for the curator's token, or takes it from the part of the address
after #, which no browser sends, and reads /v1/curator/status with it. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

from tacit.page import STYLE, policy

SCRIPT = """
const $ = id => document.getElementById(id);
let token = new URLSearchParams(location.hash.slice(1)).get('token');
history.replaceState(null, '', location.pathname);
async function call(path, options = {}) {
  const headers = {'Authorization': 'Bearer ' + token, 'Content-Type': 'application/json'};
  const response = await fetch(path, {...options, headers});
  if (response.status === 401) { token = null; throw new Error('this token is not the curator\\'s'); }
  if (!response.ok) throw new Error('the service answers with status ' + response.status);
  return response.json();
}
function rows(id, lines) {
  $(id).replaceChildren(...lines.map(cells => {
    const line = document.createElement('tr');
    for (const cell of cells) { const td = document.createElement('td'); td.textContent = cell; line.append(td); }
    return line;
  }));
}
function stated(g) {
  if (g.notion === 'none') return 'NO privacy guarantee: ' + g.source;
  const but = g.assumptions.length ? ' Only if: ' + g.assumptions.join('; ') + '.' : ' Whatever the rows are.';
  return `epsilon = ${g.epsilon.toPrecision(4)}, delta = ${g.delta}, for ${g.unit}.${but} Source: ${g.source}.`;
}
function kind(g) { return g.notion === 'none' ? 'none' : g.assumptions.length ? 'conditional' : 'unconditional'; }
const when = t => t.slice(0, 19).replace('T', ' ');
function show(s) {
  const t = s.terms;
  $('study').textContent = t.study;
  $('size').textContent = `${t.rows} rows, ${t.columns} columns, ${t.transform}, noise ${t.noise.toPrecision(4)}`;
  for (const [id, g] of [['table', t.guarantee], ['whole', t.whole]]) {
    $(id).textContent = stated(g);
    $(id + '-kind').textContent = kind(g); $(id + '-kind').className = 'kind ' + kind(g);
  }
  $('left').textContent = `${s.left} of ${s.queries}`;
  $('budget').textContent = s.budget_left ?? 'no ledger counts this study';
  $('state').textContent = s.stopped ? 'stopped since ' + when(s.stopped) : 'answering';
  $('stop').textContent = s.stopped ? 'Answer again' : 'Stop answering';
  $('stop').dataset.stopped = s.stopped ? 'yes' : '';
  const may = k => k.revoked ? 'revoked ' + when(k.revoked) : 'may ask';
  rows('modelers', s.tokens.map(k => [k.name, s.modelers[k.name] ?? 0, may(k)]));
  rows('exchanges', s.exchanges.map(e => [e.number, when(e.time), e.modeler, e.row]));
}
function open() { $('login').hidden = Boolean(token); $('main').hidden = !token; }
async function refresh() {
  open();
  if (!token) return;
  try { show(await call('/v1/curator/status')); $('said').textContent = ''; }
  catch (error) { $('said').textContent = error.message; open(); }
}
$('login').addEventListener('submit', event => { event.preventDefault(); token = $('token').value.trim(); refresh(); });
$('stop').addEventListener('click', async () => {
  const stopped = !$('stop').dataset.stopped;
  try { await call('/v1/curator/stop', {method: 'POST', body: JSON.stringify({stopped})}); } finally { refresh(); }
});
refresh();
setInterval(refresh, 3000);
"""

HTML = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tacit curator</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>
<p class="over">tacit · outsourcing</p><h1>Curator</h1>
<p id="said" role="alert"></p>
<form id="login" hidden><label>Curator's token <input id="token" type="password" autocomplete="off"></label></form>
<main id="main" hidden>
<dl class="figures"><div><dt>Study</dt><dd id="study"></dd></div><div><dt>Published</dt><dd id="size"></dd></div>
<div><dt>Queries left</dt><dd id="left"></dd></div><div><dt>Privacy budget left</dt><dd id="budget"></dd></div>
<div><dt>State</dt><dd id="state"></dd></div></dl>
<p><button id="stop" class="stop" type="button">Stop answering</button></p>
<h2>What the table guarantees</h2><p><span id="table-kind"></span></p><p id="table" class="box"></p>
<h2>What table and answers guarantee together</h2><p><span id="whole-kind"></span></p><p id="whole" class="box"></p>
<h2>Who may ask</h2><div class="wide"><table><thead><tr><th scope="col">Modeler</th><th scope="col">Queries</th>
<th scope="col">Token</th></tr></thead><tbody id="modelers"></tbody></table></div>
<h2>Who asked what</h2><div class="wide"><table><thead><tr><th scope="col">Number</th><th scope="col">Time</th>
<th scope="col">Modeler</th><th scope="col">Row</th></tr></thead><tbody id="exchanges"></tbody></table></div>
</main><script>{SCRIPT}</script></body></html>
"""

HEADERS = {
    "Content-Security-Policy": policy([SCRIPT], connect=True),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
