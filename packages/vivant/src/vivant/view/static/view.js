// Filters that act at once, the matrix, keyboard and live updates. Pages can be read without this file.
"use strict";

const main = () => document.getElementById("main");
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const exported = document.body.hasAttribute("data-export");
document.body.classList.add("js");

// ── pages that change in place ──

let asked = 0;

async function swap(address, how) {
  const number = ++asked;
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  if (number !== asked || !fresh) return;
  if (how === "push") history.pushState(null, "", address);
  if (how === "replace") history.replaceState(null, "", address);
  document.title = page.title;
  const open = new Set(all("details[open] > summary", main()).map((s) => s.textContent));
  const focus = document.activeElement;
  const field = main().contains(focus) && focus.name ? { name: focus.name, value: focus.value, at: focus.selectionStart, text: focus.type === "search" } : null;
  const item = main().contains(focus) && focus.matches("a[data-item]") ? focus.getAttribute("href") : null;
  const left = main().querySelector(".scroll")?.scrollLeft || 0;
  main().replaceWith(document.adoptNode(fresh));
  for (const summary of all("details > summary", main())) if (open.has(summary.textContent)) summary.parentElement.open = true;
  prepare();
  if (main().querySelector(".scroll")) main().querySelector(".scroll").scrollLeft = left;
  const again = field
    ? all("input, select", main()).find((f) => f.name === field.name && (f.type !== "checkbox" || f.value === field.value))
    : item ? all("a[data-item]", main()).find((a) => a.getAttribute("href") === item) : null;
  again?.focus({ preventScroll: true });
  if (field?.text && again) {
    again.value = field.value;
    again.setSelectionRange(field.at, field.at);
  }
}

function formAddress(form) {
  const values = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  return form.getAttribute("action") + (String(values) ? `?${values}` : "");
}

let waiting;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.matches("form.filters")) return;
  if (form.matches("[data-matrix]")) return event.target.matches("[data-reload]") ? reload() : saveMatrix();
  if (form.matches("[data-list]")) return filterList(form);
  clearTimeout(waiting);
  waiting = setTimeout(() => swap(formAddress(form), "replace"), event.target.type === "search" ? 150 : 0);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.filters")) return;
  if (event.target.matches("[data-matrix]") && chosen().length > 1) {
    event.preventDefault();
    location.href = exported ? exportedComparison(event.target) : `/compare?${new URLSearchParams(chosen().map((cell) => ["cell", cell]))}`;
  } else {
    event.preventDefault();
    if (!event.target.matches("[data-matrix], [data-list]")) swap(formAddress(event.target), "push");
  }
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap], a[data-next], a[data-prev], .tile a, .count a");
  if (link && !exported && !event.ctrlKey && !event.metaKey && !event.shiftKey && link.pathname === location.pathname && !link.pathname.endsWith("/sample")) {
    event.preventDefault();
    swap(link.href, "push").then(() => window.scrollTo(0, 0));
  }
});
window.addEventListener("popstate", () => swap(location.href));

// ── the matrix: its whole state is in the address ──

const list = (name) => new URLSearchParams(location.search).getAll(name);
const value = (name) => list(name)[0] || "";
const unfolded = new Set(); // what a phone shows in full: lines by name, parts of the matrix by kind
const chosen = () => all("input[name=cell]:checked", main()).map((box) => box.value);

const chosenRuns = () => new Set(chosen().map((cell) => cell.slice(0, cell.lastIndexOf("|"))));

function exportedComparison(form) {
  const runs = chosenRuns();
  const known = JSON.parse(form.dataset.comparisons).find(([names]) => names.length === runs.size && names.every((name) => runs.has(name)));
  return known && known[1];
}

function change(values) {
  const params = new URLSearchParams(location.search);
  for (const [name, each] of Object.entries(values)) {
    params.delete(name);
    for (const one of [each].flat()) if (one) params.append(name, one);
  }
  history.replaceState(null, "", location.pathname + (String(params) ? `?${params}` : ""));
  showMatrix();
}

function saveMatrix() {
  const form = document.querySelector("[data-matrix]");
  const values = { q: form.elements.q.value, cell: chosen(), "hide-baselines": form.elements.baselines.checked ? "" : "1" };
  for (const select of all("select", form)) values[select.name] = select.value;
  values["hide-b"] = all("input[name=b]", form).filter((box) => !box.checked).map((box) => box.value);
  change(values);
}

function reload() {
  const params = new URLSearchParams(location.search);
  if (document.querySelector("[data-reload]").checked) params.set("published", "1");
  else params.delete("published");
  swap(location.pathname + (String(params) ? `?${params}` : ""), "replace");
}

function showMatrix() {
  const form = document.querySelector("[data-matrix]");
  if (!form) return;
  const cells = new Set(list("cell"));
  const hidden = new Set(list("hide"));
  const pinned = list("pin");
  const columns = new Set(list("hide-b"));
  if (document.activeElement !== form.elements.q) form.elements.q.value = value("q");
  form.elements.baselines.checked = !value("hide-baselines");
  for (const select of all("select", form)) select.value = value(select.name);
  for (const box of all("input[name=b]", form)) box.checked = !columns.has(box.value);
  for (const box of all("input[name=cell]")) box.checked = cells.has(box.value);
  const compare = form.querySelector("[data-compare]");
  if (compare) {
    const runs = chosenRuns();
    const known = !exported || runs.size < 2 || exportedComparison(form);
    compare.disabled = runs.size < 2 || !known;
    compare.textContent = !known ? "Not exported together" : runs.size > 1 ? `Compare ${runs.size} runs` : "Compare selected";
  }
  for (const cell of all("table.matrix [data-benchmark]")) cell.hidden = columns.has(cell.dataset.benchmark);
  for (const cell of all("table.matrix td[data-task]")) cell.hidden = columns.has(cell.dataset.task.split("/")[0]);
  const words = value("q").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0, away = 0;
  for (const row of all("table.matrix tr[data-entry]")) {
    const text = row.dataset.text.toLowerCase();
    const off = hidden.has(row.dataset.entry);
    const fits = words.every((word) => text.includes(word)) && all("select", form).every((select) => {
      const own = row.getAttribute(`data-${select.name.replace(".", "-")}`);
      return !select.value || own === null || own === select.value;
    });
    row.hidden = off || !fits;
    away += off;
    shown += !row.hidden;
    const pin = row.querySelector("[data-pin]");
    if (pin) pin.setAttribute("aria-pressed", String(pinned.includes(row.dataset.entry)));
    row.classList.toggle("pinned", pinned.includes(row.dataset.entry));
    row.classList.toggle("unfolded", unfolded.has(row.dataset.entry));
    row.querySelector("[data-rest]")?.setAttribute("aria-expanded", String(unfolded.has(row.dataset.entry)));
  }
  const sort = value("sort"), up = value("order") === "up";
  for (const head of all("table.matrix button.sort")) {
    const on = head.dataset.sort === sort;
    head.closest("th").setAttribute("aria-sort", !on ? "none" : sort && !up ? "descending" : "ascending");
  }
  for (const body of all("table.matrix tbody")) {
    body.classList.toggle("unfolded", unfolded.has(body.dataset.kind));
    body.querySelector(".kind [data-rest]")?.setAttribute("aria-expanded", String(unfolded.has(body.dataset.kind)));
    const rows = all("tr[data-entry]", body);
    const figure = (row) => {
      const text = all("td[data-task]", row).find((cell) => cell.dataset.task === sort)?.dataset.value;
      return text ? Number(text) : -Infinity;
    };
    rows.sort((a, b) => Number(pinned.includes(b.dataset.entry)) - Number(pinned.includes(a.dataset.entry))
      || (sort ? (figure(b) - figure(a)) * (up ? -1 : 1) : 0) || Number(a.dataset.at) - Number(b.dataset.at));
    for (const row of rows) body.append(row);
    const baselines = body.dataset.kind === "baseline" && Boolean(value("hide-baselines"));
    body.hidden = baselines || !rows.some((row) => !row.hidden) && body.dataset.kind !== "published";
  }
  document.getElementById("shown").textContent = `${shown} lines${away ? `, ${away} hidden` : ""}`;
  document.querySelector("[data-unhide]").hidden = !away;
  form.querySelector("[data-reset]").hidden = !location.search;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const row = event.target.closest("tr[data-entry]");
  if (!button) return;
  if (button.matches(".sort")) {
    const same = value("sort") === button.dataset.sort;
    change({ sort: button.dataset.sort, order: same && value("order") !== "up" ? "up" : "" });
  } else if (button.matches("[data-pin]")) {
    const pins = list("pin"), name = row.dataset.entry;
    change({ pin: pins.includes(name) ? pins.filter((each) => each !== name) : [...pins, name] });
  } else if (button.matches("[data-rest]")) {
    const name = row ? row.dataset.entry : button.closest("tbody").dataset.kind;
    if (!unfolded.delete(name)) unfolded.add(name);
    showMatrix();
  } else if (button.matches("[data-hide]")) change({ hide: [...list("hide"), row.dataset.entry] });
  else if (button.matches("[data-unhide]")) change({ hide: [] });
  else if (button.matches("[data-reset]")) {
    history.replaceState(null, "", location.pathname);
    if (document.querySelector("[data-reload]:checked")) swap(location.pathname, "replace");
    else showMatrix();
  }
});
document.addEventListener("change", (event) => {
  if (event.target.name === "cell") saveMatrix();
});

// ── lists in an export: filtered here, for there is no server ──

function filterList(form) {
  const values = Object.fromEntries([...new FormData(form)].filter(([, each]) => each));
  const words = (values.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of all("table.samples tbody tr")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(words.every((word) => text.includes(word)) && (!values.outcome || row.dataset.outcome === values.outcome)
      && (!values.task || row.dataset.task === values.task));
    shown += !row.hidden;
  }
  document.getElementById("total").textContent = shown.toLocaleString("en");
  const params = new URLSearchParams(values);
  history.replaceState(null, "", location.pathname + (String(params) ? `?${params}` : ""));
}

// ── keyboard ──

const typing = () => /^(INPUT|SELECT|TEXTAREA|VIDEO|AUDIO)$/.test(document.activeElement.tagName) && document.activeElement.type !== "checkbox";
const click = (selector) => document.querySelector(selector)?.click();

function step(by) {
  const items = all("a[data-item]").filter((a) => a.offsetParent);
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  items[Math.min(items.length - 1, Math.max(0, at + by))].focus();
}

function outcome(name) {
  const select = document.querySelector("form.filters select[name=outcome]");
  if (!select) return;
  select.value = name;
  select.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return document.activeElement.blur();
  if (typing()) return;
  const keys = {
    j: () => step(1), k: () => step(-1),
    ArrowRight: () => click("a[data-next]"), n: () => click("a[data-next]"),
    ArrowLeft: () => click("a[data-prev]"), p: () => click("a[data-prev]"),
    u: () => click("a[data-up]"),
    r: () => outcome("right"), w: () => outcome("wrong"), e: () => outcome("error"), a: () => outcome(""),
    "/": () => document.querySelector("[data-search]")?.focus(),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

// ── what is new, without a reload ──

async function follow() {
  const place = main();
  try {
    if (document.visibilityState === "visible" && place.querySelector("[data-again]")) await swap(location.href);
    else if (document.visibilityState === "visible" && place.dataset.live) {
      const answer = await fetch(place.dataset.live);
      const { version } = answer.ok ? await answer.json() : {};
      if (version && version !== place.dataset.version && place === main()) await swap(location.href);
    }
  } catch { /* The server is gone for a moment; the next look tells. */ }
  setTimeout(follow, main().querySelector("[data-again]") ? 700 : 2000);
}

// ── each page, and each that takes its place ──

function prepare() {
  all("table.matrix tr[data-entry]").forEach((row, at) => { row.dataset.at = at; });
  showMatrix();
  const form = document.querySelector("form[data-list]");
  if (form && location.search) {
    for (const [name, each] of new URLSearchParams(location.search)) if (form.elements[name]) form.elements[name].value = each;
    filterList(form);
  }
  for (const media of all("img, video, audio", main())) {
    media.addEventListener("error", () => {
      const note = document.createElement("p");
      note.className = "problem missing";
      note.textContent = `Not shown: ${media.alt || "this file"} is missing, outside the data folder, or not media.`;
      media.replaceWith(note);
      if (exported) return;
      fetch(media.currentSrc || media.src).then((answer) => answer.text()).then((page) => {
        const reason = new DOMParser().parseFromString(page, "text/html").querySelector(".problem");
        if (reason) note.textContent = reason.textContent;
      }).catch(() => undefined);
    });
  }
}

prepare();
if (!exported) setTimeout(follow, 1500);
