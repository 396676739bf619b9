// One comment in focus at a time: keys judge it, the next open one follows. Without this file all are in one list.
"use strict";

(() => {
  const form = document.getElementById("item");
  const sections = [...form.querySelectorAll(".comment")];
  const strip = form.querySelector(".strip");
  const counter = form.querySelector(".counter");
  const next = document.getElementById("next");
  const hint = form.querySelector(".open");
  if (sections.length < 2 || !strip) return;
  let current = 0;

  const groups = (section) => [...new Set([...section.querySelectorAll("input[type=radio]")].map((field) => field.name))];
  const isDone = (section) => groups(section).every((name) => section.querySelector(`input[name="${CSS.escape(name)}"]:checked`));
  const open = () => sections.map((section, index) => (isDone(section) ? -1 : index)).filter((index) => index >= 0);

  const buttons = sections.map((section, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = String(index + 1);
    button.addEventListener("click", () => show(index));
    strip.append(button);
    return button;
  });

  function mark() {
    const left = open();
    sections.forEach((section, index) => {
      const done = !left.includes(index);
      buttons[index].classList.toggle("done", done);
      buttons[index].setAttribute("aria-label", (done ? form.dataset.judged : form.dataset.unjudged).replace("{number}", index + 1));
      if (index === current) buttons[index].setAttribute("aria-current", "true");
      else buttons[index].removeAttribute("aria-current");
    });
    counter.textContent = form.dataset.counter.replace("{number}", current + 1).replace("{total}", sections.length);
    hint.hidden = true;
    next.classList.toggle("waiting", left.length > 0);
  }

  function show(index, focus = true) {
    current = (index + sections.length) % sections.length;
    sections.forEach((section, number) => { section.hidden = number !== current; });
    mark();
    if (!focus) return;
    sections[current].querySelector("h3").focus({ preventScroll: true });
    reveal(sections[current]);
  }

  // On a phone the video sticks above the comments; the comment in focus is moved out from under it.
  function reveal(section) {
    const look = form.querySelector(".look");
    const box = section.getBoundingClientRect();
    const view = look?.getBoundingClientRect();
    let edge = document.querySelector(".top").getBoundingClientRect().bottom;
    if (view && getComputedStyle(look).position === "sticky" && view.right > box.left && view.left < box.right) {
      edge = parseFloat(getComputedStyle(look).top) + look.offsetHeight;
    }
    const above = box.top - edge - 8;
    const below = box.bottom - innerHeight + 8;
    if (above < 0) scrollBy(0, above);
    else if (below > 0) scrollBy(0, Math.min(above, below));
  }

  // The next one that is open, after this one and then from the start.
  function advance() {
    const left = open();
    if (left.length === 0) { mark(); next.focus(); return; }
    show(left.find((index) => index > current) ?? left[0]);
  }

  // A moment is left to see the choice; whoever types on in it means the next comment already.
  let before = false;
  let timer = 0;
  const turn = () => {
    clearTimeout(timer);
    timer = 0;
    advance();
  };
  const settle = () => {
    mark();
    if (!before && isDone(sections[current])) timer = setTimeout(turn, 120);
  };
  form.addEventListener("pointerdown", () => { before = isDone(sections[current]); }, true);
  form.addEventListener("change", settle);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, select, video, audio")) return;
    if (timer) turn();
    const key = event.key.toLowerCase();
    const choice = sections[current].querySelector(`input[data-hotkey="${CSS.escape(key)}"]`);
    if (choice) {
      before = isDone(sections[current]);
      choice.click();
      event.preventDefault();
    } else if (key === "arrowright" || key === "arrowleft") {
      if (event.target.matches("input[type=radio]")) return;
      show(current + (key === "arrowright" ? 1 : -1));
      event.preventDefault();
    }
  });

  // Nobody is sent away with open comments: the first of them is shown.
  form.addEventListener("submit", (event) => {
    const left = open();
    if (left.length === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    show(left[0]);
    hint.textContent = form.dataset.open.replace("{count}", left.length);
    hint.hidden = false;
  }, true);

  form.querySelector(".back").addEventListener("click", () => show(current - 1));
  form.querySelector(".forth").addEventListener("click", () => show(current + 1));
  form.classList.add("one");
  show(open()[0] ?? 0, false);
})();
