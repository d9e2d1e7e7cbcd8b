// Keeps a served page as it is on the disk: asks for its parts, and replaces those that changed.
"use strict";
(() => {
  const where = document.querySelector("meta[name=live]").content, said = document.getElementById("live");
  let mark = "";
  const opened = part => [...part.querySelectorAll("details")].map(d => d.open);
  async function refresh() {
    try {
      const response = await fetch(`${where}?have=${mark}`, {cache: "no-store"});
      if (response.status === 204) { said.textContent = ""; return; }
      if (!response.ok) throw new Error(response.status);
      const fresh = await response.json();
      if (fresh.shape !== document.body.dataset.shape) { location.reload(); return; }
      mark = fresh.mark;
      document.title = fresh.title;
      for (const [id, [hash, html]] of Object.entries(fresh.parts)) {
        const part = document.getElementById(id);
        if (part.dataset.mark === hash) continue;
        const open = opened(part);
        part.innerHTML = html; part.dataset.mark = hash;
        part.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
      }
      window.tacitChanged?.(fresh.data);
      said.textContent = "";
    } catch (error) {
      said.textContent = "The dashboard does not answer. This page shows how things were when it last did.";
    }
  }
  setInterval(refresh, 1500);
})();
