// Keyboard and live progress. Everything works without this file, with clicks and reloads.
"use strict";

const typing = () => /^(INPUT|SELECT|TEXTAREA|VIDEO|AUDIO)$/.test(document.activeElement.tagName);
const click = (selector) => document.querySelector(selector)?.click();

function step(by) {
  const items = [...document.querySelectorAll("a[data-item]")];
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  items[Math.min(items.length - 1, Math.max(0, at + by))].focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return document.activeElement.blur();
  if (typing()) return;
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    ArrowRight: () => click("a[data-next]"),
    n: () => click("a[data-next]"),
    ArrowLeft: () => click("a[data-prev]"),
    p: () => click("a[data-prev]"),
    u: () => click("a[data-up]"),
    "/": () => document.querySelector("[data-search]")?.focus(),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

for (const select of document.querySelectorAll("form.filters[method=get] select")) {
  if (select.form.querySelector("[data-search]")) select.addEventListener("change", () => select.form.requestSubmit());
}

// Empty fields need not stand in an address that is passed on.
for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
  });
}

for (const media of document.querySelectorAll("img, video, audio")) {
  media.addEventListener("error", () => {
    const note = document.createElement("p");
    note.className = "problem missing";
    note.textContent = `Not shown: ${media.alt || "this file"} is missing, outside the data folder, or not media.`;
    fetch(media.currentSrc || media.src).then((answer) => answer.text()).then((page) => {
      const said = new DOMParser().parseFromString(page, "text/html").querySelector(".problem");
      if (said) note.textContent = said.textContent;
    }).catch(() => undefined);
    media.replaceWith(note);
  });
}

for (const place of document.querySelectorAll("[data-live]")) {
  const ask = async () => {
    const answer = await fetch(place.dataset.live);
    if (!answer.ok) return;
    const now = await answer.json();
    place.querySelector("progress").value = now.share;
    place.querySelector("span").textContent = `${now.done.toLocaleString("en")} / ${now.planned.toLocaleString("en")}`;
    if (now.live) setTimeout(ask, 1500);
    else place.querySelector(".mark.live")?.remove();
  };
  setTimeout(ask, 1000);
}
