// One submission a click: a second click on the way to the next page would be a second action.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  // Later than now, so that the clicked button's own name and value are still sent.
  setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  });
});
// Times are shown in the zone of this browser, unless the reader has chosen one.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `browser_zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
}
// Back shows the page as it was left.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const button of document.querySelectorAll("form button")) button.disabled = false;
});
