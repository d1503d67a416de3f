// Shortcuts of a single key, for who has not switched them off: templates/_keys.html lists them.
(() => {
  const sheet = document.getElementById("keys");
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    const dialog = opener && document.getElementById(opener.dataset.opens);
    if (!dialog) return;
    event.preventDefault();
    dialog.showModal();
  });
  if (document.documentElement.dataset.keys !== "yes") return;

  let going = 0; // until when a second key says where to go
  const rows = () => [...document.querySelectorAll("main table.rows tbody tr, main [data-row]")].filter((row) => row.querySelector("a"));
  const at = () => rows().findIndex((row) => row.contains(document.activeElement));
  // The row's link has the focus, so that Enter opens it and a reader of the screen says it.
  const step = (by) => {
    const all = rows();
    const next = all[at() < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at() + by, 0), all.length - 1)];
    const link = next?.querySelector("a.name") ?? next?.querySelector("a");
    link?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const tick = () => rows()[at()]?.querySelector("input[type=checkbox]")?.click();
  const search = () => document.getElementById("search")?.focus();
  const does = { "/": search, j: () => step(1), k: () => step(-1), x: tick, "?": () => sheet?.showModal() };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && !"jk".includes(event.key)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.matches("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]")) return;
    const place = Date.now() < going && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    going = event.key === "g" ? Date.now() + 1500 : 0;
    if (place) place.click();
    else if (does[event.key]) does[event.key]();
    else return;
    event.preventDefault();
  });
})();
