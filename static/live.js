// Regions that keep themselves up to date and disturb nobody: runs/dashboard/live/polling.py.
(() => {
  const IDLE_AFTER = 5 * 60_000;
  const SLOWEST = 60_000; // for who has gone from the keyboard, and while the server is away
  const control = document.getElementById("live");
  const said = document.getElementById("live-said");
  const button = document.getElementById("live-pause");
  const known = new WeakMap(); // region → { timer, failures, at, until }
  let paused = false;
  let active = Date.now();

  const regions = () => [...document.querySelectorAll("[data-live]")];
  const seen = () => regions().filter((region) => !("quiet" in region.dataset));
  const state = (region) => {
    if (!known.has(region)) known.set(region, { failures: 0, at: Date.now(), until: 0 });
    return known.get(region);
  };
  const idle = () => Date.now() - active > IDLE_AFTER;
  const typing = (region) => {
    const at = document.activeElement;
    return region.contains(at) && at.matches("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
  };

  // Why this region is left as it stands; empty where it may change.
  const held = (region) => {
    if (paused) return "you paused it";
    const ticked = region.querySelectorAll("input[type=checkbox]:checked").length;
    if (ticked) return `${ticked} row${ticked === 1 ? "" : "s"} selected`;
    if (document.querySelector("dialog[open]")) return "a dialog is open";
    if (region.querySelector("details.action[open], details.menu[open], :popover-open")) return "a menu is open";
    return typing(region) ? "you are typing" : "";
  };

  const wait = (region) => {
    const wanted = Number(region.dataset.live) * 1000;
    const slowed = idle() ? Math.max(wanted, SLOWEST) : Math.max(wanted, Math.min(wanted * 2 ** state(region).failures, SLOWEST));
    const soonest = state(region).until - Date.now(); // as the server has said
    return Math.max(slowed, soonest * 1.25) * (0.8 + Math.random() * 0.4); // not all pages at the same moment
  };
  const plan = (region) => {
    clearTimeout(state(region).timer);
    if (document.hidden || !region.isConnected || !region.dataset.live) return;
    state(region).timer = setTimeout(() => poll(region), wait(region));
  };
  const poll = (region) => {
    if (!region.isConnected || document.hidden) return;
    if (!held(region) && Date.now() >= state(region).until) window.htmx.trigger(region, "poll");
    plan(region);
  };
  const pollAll = () => regions().forEach(poll);

  const words = () => {
    const shown = seen();
    const why = shown.map(held).find(Boolean);
    if (why) return `paused – ${why}`;
    const at = Math.min(...shown.map((region) => state(region).at));
    if (shown.some((region) => state(region).failures)) return `not updated since ${window.onebeat.hour(at + window.onebeat.now() - Date.now())}`;
    return `updated ${window.onebeat.span(Math.round((Date.now() - at) / 1000))} ago`;
  };
  const show = () => {
    if (!control) return;
    control.hidden = !seen().length;
    if (control.hidden) return;
    const text = words();
    if (said.textContent !== text) said.textContent = text;
    control.classList.toggle("away", seen().some((region) => state(region).failures));
  };

  const of = (event) => event.detail?.ctx?.sourceElement;
  const isRegion = (element) => element?.matches?.("[data-live]") ?? false;
  document.addEventListener("htmx:config:request", (event) => {
    const region = of(event);
    if (isRegion(region)) event.detail.ctx.request.headers["HX-PTag"] = region.dataset.tag;
  });
  // What was ticked or opened while the answer was on its way stays too. The tag stands in what
  // is swapped, so that an answer that was not shown counts as not seen.
  document.addEventListener("htmx:before:swap", (event) => {
    const region = of(event);
    if (isRegion(region) && held(region)) event.preventDefault();
  });
  document.addEventListener("htmx:after:request", (event) => {
    const region = of(event);
    if (!isRegion(region)) return;
    const { status, headers } = event.detail.ctx.response;
    if ([200, 304].includes(status)) Object.assign(state(region), { failures: 0, at: Date.now() });
    else Object.assign(state(region), { failures: state(region).failures + 1, until: Date.now() + 1000 * (Number(headers.get("Retry-After")) || 0) });
    plan(region);
    show();
  });
  document.addEventListener("htmx:error", (event) => {
    const region = of(event);
    if (!isRegion(region)) return;
    state(region).failures += 1;
    plan(region);
    show();
  });
  document.addEventListener("htmx:after:swap", () => {
    for (const region of regions()) if (!known.has(region)) plan(region);
    show();
  });

  button?.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Resume" : "Pause";
    if (!paused) pollAll();
    show();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) regions().forEach((region) => clearTimeout(state(region).timer));
    else pollAll();
  });
  window.addEventListener("pageshow", (event) => { if (event.persisted) pollAll(); });
  for (const name of ["pointerdown", "pointermove", "keydown", "scroll"]) {
    document.addEventListener(name, () => {
      const back = idle();
      active = Date.now();
      if (back) pollAll();
    }, { passive: true, capture: true });
  }
  regions().forEach(plan);
  show();
  setInterval(show, 1000);
})();
