// Marking seconds of a video, and sliders. Without this file both are plain fields to type into.
"use strict";

(() => {
  const form = document.getElementById("item");
  const changed = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));

  // A slider writes into the field beside it; one that was never moved leaves it empty.
  for (const field of form.querySelectorAll("input.exact")) {
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = field.min;
    slider.max = field.max;
    slider.value = field.value === "" ? (Number(field.min) + Number(field.max)) / 2 : field.value;
    slider.setAttribute("aria-labelledby", field.getAttribute("aria-labelledby"));
    slider.classList.toggle("still", field.value === "");
    slider.addEventListener("input", () => { field.value = slider.value; slider.classList.remove("still"); });
    slider.addEventListener("change", () => { field.value = slider.value; slider.classList.remove("still"); changed(field); });
    field.addEventListener("input", () => { if (field.value !== "") { slider.value = field.value; slider.classList.remove("still"); } });
    // What is off the scale stays in the field and is named there; the server does not keep it.
    const warning = document.getElementById(field.getAttribute("aria-describedby"));
    const check = () => { warning.hidden = field.validity.valid; field.setAttribute("aria-invalid", String(!field.validity.valid)); };
    for (const name of ["input", "change"]) { field.addEventListener(name, check); slider.addEventListener(name, check); }
    check();
    field.closest(".slide").prepend(slider);
  }

  const tools = form.querySelector(".marking");
  if (!tools) return;
  const video = form.querySelector("video");
  const field = form.elements.spans;
  const nothing = form.elements.nothing;
  const list = tools.querySelector("ul");
  const [begin, end] = tools.querySelectorAll("button");
  let start = null;
  const read = () => field.value.split(",").map((entry) => entry.trim()).filter(Boolean);
  const clock = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, "0")}`;
  function draw() {
    list.replaceChildren(...read().map((entry, index) => {
      const line = document.createElement("li");
      const [from, to] = entry.split("-").map(Number);
      line.append(Number.isFinite(from + to) ? `${clock(from)} – ${clock(to)} ` : `${entry} `);
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "replay";
      remove.textContent = tools.dataset.remove;
      remove.addEventListener("click", () => { write(read().filter((_, other) => other !== index)); });
      line.append(remove);
      return line;
    }));
    end.disabled = start === null;
    begin.classList.toggle("on", start !== null);
  }
  function write(entries) {
    field.value = entries.join(", ");
    draw();
    changed(field);
  }
  begin.addEventListener("click", () => { start = video.currentTime; draw(); });
  end.addEventListener("click", () => {
    const [from, to] = [start, video.currentTime].sort((a, b) => a - b);
    start = null;
    if (nothing.checked) nothing.checked = false;
    if (to - from >= 0.1) write([...read(), `${from.toFixed(1)}-${to.toFixed(1)}`]);
    else draw();
  });
  nothing.addEventListener("change", () => { if (nothing.checked) write([]); });
  field.addEventListener("input", draw);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, input:not([type=checkbox])")) return;
    if (event.key.toLowerCase() === "i") begin.click();
    if (event.key.toLowerCase() === "o" && !end.disabled) end.click();
  });
  tools.hidden = false;
  draw();
})();
