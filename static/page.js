// One submission a click: a second click on the way to the next page would be a second action.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || event.submitter?.formTarget === "_blank") return; // this page stays
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
// A form that comes back leads to what it asks anew, where nothing at its head says so.
if (!document.querySelector("main .errors.banner")) document.querySelector("main form[method=post] [aria-invalid=true]")?.focus();
// What went wrong with a request of a part of the page: said once, with the id that the log knows.
const alerts = document.getElementById("alerts");
let leaving = false;
window.addEventListener("pagehide", () => { leaving = true; });
window.addEventListener("pageshow", () => { leaving = false; });
const alertOf = (text) => {
  const close = Object.assign(document.createElement("button"), { type: "button", className: "button plain small", textContent: "Close" });
  const toast = Object.assign(document.createElement("p"), { className: "toast", textContent: text });
  close.addEventListener("click", () => toast.remove());
  toast.append(" ", close);
  alerts?.replaceChildren(toast);
};
// A region that polls says itself how old it is.
const polls = (event) => event.detail?.ctx?.sourceElement?.matches?.("[data-live]");
document.addEventListener("htmx:response:error", (event) => {
  const { status, headers } = event.detail.ctx.response;
  if (polls(event) || status === 422 || status === 409) return;
  alertOf(`That did not work: the server answered ${status}. The page stands as it was. Request ${headers.get("X-Request-ID") ?? "without a number"}.`);
});
document.addEventListener("htmx:error", (event) => {
  if (polls(event) || leaving) return;
  alertOf("The server does not answer just now. The page stands as it was; what you sent may have been done.");
});
// A click copies the text of the attribute.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  document.getElementById("said").textContent = "Copied.";
});
// The title and the icon tell of what waits for a person, also while the page is behind others.
document.addEventListener("htmx:after:swap", () => {
  const icon = document.getElementById("icon");
  const review = document.getElementById("counts")?.dataset.review;
  if (review === undefined) return;
  document.title = (review ? `(${review}) ` : "") + document.title.replace(/^\(\S+\) /, "");
  const wanted = review ? icon.dataset.review : icon.dataset.calm;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
});
