// A moment may be picked as well as typed: what is picked is written into the field as text, with
// the offset of this browser's clock, or without one on the clock that the field names.
(() => {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone || "this browser";
  const two = (count) => String(count).padStart(2, "0");
  const shownHere = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const withOffset = (at) => {
    const ahead = -at.getTimezoneOffset();
    const size = Math.abs(ahead);
    return `${shownHere(at)}:00${ahead < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  };
  const read = (text, zone) => {
    const local = text.trim().replace(" ", "T");
    if (zone) return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(local) && !/[Zz+]|-\d\d:/.test(local.slice(16)) ? local.slice(0, 16) : "";
    const at = new Date(text);
    return /T.*([Zz]|[+-]\d\d:\d\d)$/.test(text.trim()) && !Number.isNaN(at.getTime()) ? shownHere(at) : "";
  };
  for (const field of document.querySelectorAll("input[data-moment]")) {
    const zone = field.dataset.moment;
    const picker = Object.assign(document.createElement("input"), { type: "datetime-local", className: "input" });
    const label = Object.assign(document.createElement("label"), { className: "pick small muted" });
    label.append(Object.assign(document.createElement("span"), { textContent: `Pick it, ${zone || here}` }), picker);
    picker.value = read(field.value, zone);
    picker.addEventListener("input", () => {
      field.value = picker.value && (zone ? picker.value.replace("T", " ") : withOffset(new Date(picker.value)));
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("input", (event) => {
      if (event.isTrusted) picker.value = read(field.value, zone);
    });
    field.after(label);
  }
})();
