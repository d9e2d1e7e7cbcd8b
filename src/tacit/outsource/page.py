"""The curator's page: what was published, under which guarantee, who asked what, what is left, and a stop button.

The page itself holds nothing private. Its script asks for the curator's token, or takes it from the part of the address
after #, which no browser sends, and reads /v1/curator/status with it. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .8rem .3rem 0;
border-bottom: 1px solid #ddd; } .none { background: #fdd; } .conditional { background: #ffd; }
.unconditional { background: #dfd; } .box { padding: .8rem 1rem; border-radius: .4rem; }
button { font: inherit; padding: .5rem 1.2rem; border: 0; border-radius: .4rem; background: #b00; color: #fff; }
button:focus, input:focus { outline: 3px solid #06c; } input { font: inherit; padding: .4rem; width: 30rem; }
dt { float: left; clear: left; width: 14rem; color: #666; } [hidden] { display: none; }
"""

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
function show(s) {
  const t = s.terms;
  $('study').textContent = t.study;
  $('size').textContent = `${t.rows} rows, ${t.columns} columns, ${t.transform}, noise ${t.noise.toPrecision(4)}`;
  for (const [id, g] of [['table', t.guarantee], ['whole', t.whole]]) {
    $(id).textContent = stated(g); $(id).className = 'box ' + kind(g);
  }
  $('left').textContent = `${s.left} of ${s.queries}`;
  $('budget').textContent = s.budget_left ?? 'no ledger counts this study';
  $('state').textContent = s.stopped ? 'stopped since ' + s.stopped : 'answering';
  $('stop').textContent = s.stopped ? 'Answer again' : 'Stop answering';
  $('stop').dataset.stopped = s.stopped ? 'yes' : '';
  const may = k => k.revoked ? 'revoked ' + k.revoked : 'may ask';
  rows('modelers', s.tokens.map(k => [k.name, s.modelers[k.name] ?? 0, may(k)]));
  rows('exchanges', s.exchanges.map(e => [e.number, e.time, e.modeler, e.row]));
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
<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>
<h1>Curator</h1>
<p id="said" role="alert"></p>
<form id="login" hidden><label>Curator's token <input id="token" type="password" autocomplete="off"></label></form>
<main id="main" hidden>
<dl><dt>Study</dt><dd id="study"></dd><dt>Published</dt><dd id="size"></dd><dt>Queries left</dt><dd id="left"></dd>
<dt>Privacy budget left</dt><dd id="budget"></dd><dt>State</dt><dd id="state"></dd></dl>
<p><button id="stop" type="button">Stop answering</button></p>
<h2>What the table guarantees</h2><p id="table" class="box"></p>
<h2>What table and answers guarantee together</h2><p id="whole" class="box"></p>
<h2>Who may ask</h2><table><thead><tr><th>Modeler<th>Queries<th>Token</tr></thead><tbody id="modelers"></tbody></table>
<h2>Who asked what</h2><table><thead><tr><th>Number<th>Time<th>Modeler<th>Row</tr></thead>
<tbody id="exchanges"></tbody></table>
</main><script>{SCRIPT}</script></body></html>
"""


def _allowed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; connect-src 'self'; script-src {_allowed(SCRIPT)}; "
    f"style-src {_allowed(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
