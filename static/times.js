// Relative times and the reader's clock tick in the browser. The server writes each time in full;
// that text moves into the tooltip. By the server's clock: this machine's may be wrong.
(() => {
  const clock = document.querySelector("[data-clock]");
  const ahead = clock ? Date.parse(clock.dataset.clock) - Date.now() : 0;
  const now = () => Date.now() + ahead;
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

  // A length of time in its two largest units, as the server writes it: 1 m 20 s.
  const span = (seconds) => {
    const first = units.findIndex(([size]) => seconds >= size);
    if (first < 0) return "0 s";
    const [size, unit] = units[first];
    const said = [`${Math.floor(seconds / size)} ${unit}`];
    const [next, name] = units[first + 1] ?? [];
    const rest = next && Math.floor((seconds % size) / next);
    if (rest) said.push(`${rest} ${name}`);
    return said.join(" ");
  };

  const tick = () => {
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const away = Math.round((now() - Date.parse(time.dateTime)) / 1000);
      const said = away >= 0 ? `${span(away)} ago` : `in ${span(-away)}`;
      if (!time.title) time.title = time.textContent;
      if (time.textContent !== said) time.textContent = said;
    }
    if (!clock) return;
    for (const part of clock.querySelectorAll("[data-zone]")) {
      part.textContent = window.onebeat.hour(now(), part.dataset.zone);
    }
  };

  window.onebeat = {
    now,
    span,
    // Hours and minutes on the clock of a zone, of the reader's unless said.
    hour: (at, zone = document.documentElement.dataset.zone) =>
      new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone }).format(at),
  };
  tick();
  setInterval(tick, 1000);
  // Before the next paint: what has just come in shows no full time for a moment.
  document.addEventListener("htmx:after:swap", tick);
})();
