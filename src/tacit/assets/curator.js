// The curator's page. Asks for the curator's token, or takes it from the part of the address after #, which no browser
// sends; then asks the service for the study's parts with it, and shows them. Nothing is loaded from elsewhere.
"use strict";
const $ = id => document.getElementById(id);
let token = new URLSearchParams(location.hash.slice(1)).get("token"), stopped = false;
history.replaceState(null, "", location.pathname);
async function call(path, options = {}) {
  const headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"};
  const response = await fetch(path, {...options, headers});
  if (response.status === 401) { token = null; throw new Error("this token is not the curator's"); }
  if (!response.ok) throw new Error("the service answers with status " + response.status);
  return response.json();
}
function open() { $("login").hidden = Boolean(token); $("main").hidden = !token; }
async function refresh() {
  open();
  if (!token) return;
  try {
    const study = await call("/v1/curator/page");
    stopped = study.stopped;
    $("stop").textContent = stopped ? "Answer again" : "Stop answering";
    if ($("parts").innerHTML !== study.html) $("parts").innerHTML = study.html;
    $("said").textContent = "";
  } catch (error) { $("said").textContent = error.message; open(); }
}
$("login").addEventListener("submit", event => { event.preventDefault(); token = $("token").value.trim(); refresh(); });
$("stop").addEventListener("click", async () => {
  try { await call("/v1/curator/stop", {method: "POST", body: JSON.stringify({stopped: !stopped})}); }
  finally { refresh(); }
});
refresh();
setInterval(refresh, 3000);
