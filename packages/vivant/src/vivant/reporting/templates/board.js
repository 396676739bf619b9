// Filters of the leaderboard: they hide lines, rank what is left again, and keep their state in the address.
// A table that is wider than the page says so.
(() => {
  const measure = (box) => box.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1);
  const watcher = new ResizeObserver((changes) => changes.forEach((change) => measure(change.target)));
  for (const box of document.querySelectorAll(".scroll")) watcher.observe(box);
  const form = document.querySelector("form.filters");
  if (!form) return;
  const rows = [...document.querySelectorAll("tr.entry")];
  const fields = ["name", "benchmark", "weights", "frames", "from", "to"];
  const matches = (data, want) =>
    (!want.name || data.name.toLowerCase().includes(want.name.toLowerCase())) &&
    (!want.benchmark || data.benchmark === want.benchmark) &&
    (!want.weights || data.weights === want.weights) &&
    (!want.frames || data.frames === want.frames) &&
    (!want.from || data.date >= want.from) &&
    (!want.to || data.date <= want.to);
  const ranks = new Map();
  const rank = (table) => {
    const shown = [...table.querySelectorAll("tr.entry[data-low]:not([data-hidden])")];
    const ends = shown.map((row) => [Number(row.dataset.low), Number(row.dataset.high)]);
    shown.forEach((row, i) => {
      const best = 1 + ends.filter((other) => other[0] > ends[i][1]).length;
      const worst = ends.length - ends.filter((other) => other[1] < ends[i][0]).length;
      const text = best === worst ? `${best}` : `${best}–${worst}`;
      row.querySelector(".rank").textContent = shown.length < 2 ? "–" : text;
      ranks.set(row.dataset.score, row.querySelector(".rank").textContent);
    });
  };
  const apply = () => {
    const want = Object.fromEntries(fields.map((name) => [name, form.elements[name].value.trim()]));
    let count = 0;
    for (const row of rows) {
      const keep = matches(row.dataset, want);
      row.toggleAttribute("data-hidden", !keep);
      if (keep && row.closest(".ranking")) count += 1;
    }
    for (const table of document.querySelectorAll("table.ranking")) rank(table);
    for (const cell of document.querySelectorAll("[data-rank-of]")) {
      cell.textContent = ranks.get(cell.dataset.rankOf) ?? cell.textContent;
    }
    for (const section of document.querySelectorAll("section[data-benchmark]")) {
      section.toggleAttribute("data-hidden", !section.querySelector("tr.entry:not([data-hidden])"));
    }
    form.querySelector("output").textContent = `${count} score${count === 1 ? "" : "s"} shown`;
    const query = new URLSearchParams(Object.entries(want).filter(([, value]) => value));
    history.replaceState(null, "", (query.size ? `?${query}` : location.pathname) + location.hash);
  };
  const query = new URLSearchParams(location.search);
  for (const name of fields) {
    const value = query.get(name);
    if (value) form.elements[name].value = value;
  }
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  const open = () => {
    let fold = document.getElementById(location.hash.slice(1))?.closest("details");
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
  };
  addEventListener("hashchange", open);
  open();
  apply();
})();
