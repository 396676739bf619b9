// Saves answers as they are given, watches what is watched, counts time down. Without this file, forms still work.
"use strict";

const form = document.getElementById("item");
// Studies on one host share its storage; each delivers what is its own.
const STORE = `vivant-study:${new URL("..", document.currentScript.src).pathname}:`;
const SAVE = new URL("../study/save", document.currentScript.src);
const STILL = 10000;
// Milliseconds after which a video that should move and does not is stuck.

// An answer of the server's; an error where none comes in time.
async function post(address, body, options = {}) {
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), 15000);
  try {
    return await fetch(address, {
      method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body), signal: control.signal, ...options,
    });
  } finally {
    clearTimeout(timer);
  }
}

// ── saving ──

// What an earlier page could not send before its time was up. The server marks it as late, or has no use for it.
async function deliver(token, except) {
  let names = [];
  try { names = Object.keys(localStorage); } catch { /* storage is off */ }
  for (const name of names) {
    if (!name.startsWith(STORE) || name === except) continue;
    const fields = JSON.parse(localStorage.getItem(name));
    try {
      const answer = await post(SAVE, { form: token, page: name.slice(STORE.length), fields });
      if (answer.status < 500 && answer.status !== 429) localStorage.removeItem(name);
    } catch { /* the next page tries again */ }
  }
}

function saver(settle) {
  const page = form.elements.page.value;
  const token = form.elements.form.value;
  const key = STORE + page;
  const state = document.getElementById("state");
  // One timer waits for the end of typing. A retry has its own wait, which nothing but a connection cuts short.
  let timer = 0, busy = null, pause = 1000;

  // What waits to be saved is this tab's own. The storage, which all tabs share, keeps a copy for a reload.
  let waiting = null;
  const stored = () => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (fields) => { waiting = fields; try { localStorage.setItem(key, JSON.stringify(fields)); } catch { /* storage is off */ } };
  const forget = () => {
    const own = JSON.stringify(waiting);
    waiting = null;
    if (stored() === own) localStorage.removeItem(key);
  };

  const say = (text, bad = false) => { state.textContent = text; state.classList.toggle("bad", bad); };
  const fields = () => {
    const found = {};
    for (const [name, value] of new FormData(form)) if (name !== "form" && name !== "page") found[name] = value.replace(/\r?\n/g, "\n");
    return found;
  };

  async function send() {
    clearTimeout(timer);
    const now = waiting;
    if (now === null) return true;
    say(form.dataset.saving);
    let answer;
    try {
      answer = await post(SAVE, { form: token, page, fields: now });
    } catch {
      answer = null;
    }
    if (answer?.ok) {
      pause = 1000;
      if (JSON.stringify(waiting) !== JSON.stringify(now)) return send();
      forget();
      say(form.dataset.saved);
      return true;
    }
    if (answer?.status === 422) { say(form.dataset.long, true); return true; }
    if (answer && answer.status !== 429 && answer.status < 500) { forget(); location.reload(); return false; }
    say(form.dataset.unsaved, true);
    await new Promise((retry) => {
      setTimeout(retry, pause);
      addEventListener("online", retry, { once: true });
    });
    pause = Math.min(15000, pause * 2);
    return send();
  }

  const flush = () => { busy ??= send().finally(() => { busy = null; }); return busy; };

  const changed = (wait) => {
    remember(fields());
    clearTimeout(timer);
    if (!busy) timer = setTimeout(flush, wait);
  };
  const typed = (field) => field.matches("textarea, input:not([type=radio], [type=checkbox], [type=range])");
  form.addEventListener("change", (event) => { if (event.target.name && !typed(event.target)) changed(0); else if (event.target.name && !event.isTrusted) changed(0); });
  form.addEventListener("input", (event) => { if (event.target.name && typed(event.target)) changed(500); });

  // What a lost connection or a closed lid left behind.
  const before = JSON.parse(stored());
  if (before) {
    waiting = before;
    for (const [name, value] of Object.entries(before)) {
      const field = form.elements[name];
      if (field?.type === "checkbox") field.checked = value !== "";
      else if (field) field.value = value;
    }
    flush();
  }
  let leaving = false;
  form.addEventListener("submit", async (event) => {
    if (leaving) { event.preventDefault(); return; }
    const reported = settle();
    if (waiting === null && !busy && !reported) { leaving = true; return; }
    event.preventDefault();
    await reported;
    if (await flush() && !leaving) { leaving = true; forget(); form.submit(); }
  });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden" && waiting && !busy) flush(); });
  return flush;
}

// ── watching ──

function watcher() {
  const next = document.getElementById("next");
  const hint = document.getElementById("hint");
  const boxes = [...document.querySelectorAll(".played")];
  const check = () => {
    const open = boxes.filter((box) => !("whole" in box.dataset));
    next.disabled = open.length > 0;
    hint.hidden = open.length === 0;
  };
  const wait = hint.textContent;
  const stuck = (is) => { if (is) { hint.textContent = form.dataset.stuck; hint.hidden = false; } else if (hint.textContent === form.dataset.stuck) { hint.textContent = wait; check(); } };
  // A report that is sent again has the same number, so that the server counts it once.
  const visit = Math.random().toString(36).slice(2);
  let reports = 0;
  const tell = async (media, what, seconds = 0) => {
    const report = `${visit}.${++reports}`;
    for (let pause = 1000; ; pause = Math.min(15000, pause * 2)) {
      try {
        const body = { form: form.elements.form.value, page: form.elements.page.value, media, what, seconds, report };
        const answer = await post(form.dataset.watch, body, { keepalive: true });
        if (answer.status < 500 && answer.status !== 429) return answer.ok;
      } catch { /* tried again below */ }
      await new Promise((go) => setTimeout(go, pause));
    }
  };
  const unreported = [];
  for (const box of boxes) {
    const player = box.querySelector("video, audio");
    const replay = box.querySelector(".replay");
    const media = box.dataset.media;
    // What was played is reported in pieces; the server counts no more than its own clock allows.
    let sent = tell(media, "ready"), furthest = 0, at = 0, played = 0, reported = performance.now(), updated = reported, over = false;
    const take = () => { const seconds = played; played = 0; reported = performance.now(); return seconds; };
    const report = () => { if (played > 0) { const seconds = take(); sent = sent.then(() => tell(media, "playing", seconds)); } };
    unreported.push(() => { count(); if (played === 0) return null; report(); return sent; });
    const count = () => {
      const step = player.currentTime - at;
      // A busy computer reports seldom: what was played then is no jump.
      const most = Math.max(1.5, (performance.now() - updated) / 1000 * player.playbackRate * 1.1);
      at = player.currentTime;
      updated = performance.now();
      if (player.seeking || step < 0 || step > most) return;
      played += step / player.playbackRate;
      if (at - furthest < most) furthest = Math.max(furthest, at);
      if (step > 0) stuck(false);
    };
    // The event may come late: what was played before it still counts.
    player.addEventListener("play", () => { updated = performance.now(); over = false; sent = sent.then(() => tell(media, "started")); });
    player.addEventListener("timeupdate", () => { count(); if (performance.now() - reported > 10000) report(); });
    // Until it has been seen once, nobody skips ahead.
    player.addEventListener("seeking", () => {
      if (!("whole" in box.dataset) && player.currentTime > furthest + 0.5) player.currentTime = furthest;
      at = player.currentTime;
      over = false;
    });
    player.addEventListener("ratechange", () => {
      if (!("whole" in box.dataset) && player.playbackRate > 1) player.playbackRate = 1;
    });
    const finish = async () => {
      if (over) return;
      over = true;
      count();
      if (replay) replay.hidden = false;
      const seconds = take();
      const end = sent.then(() => tell(media, "ended", seconds));
      sent = end;
      if (await end && !("whole" in box.dataset)) {
        box.dataset.whole = "";
        const told = box.querySelector(".whole");
        if (told) told.hidden = false;
        check();
      }
    };
    player.addEventListener("ended", finish);
    // Some players stop at the end without a word, or anywhere.
    const look = setInterval(() => {
      if ("whole" in box.dataset) { stuck(false); return void clearInterval(look); }
      if (player.ended || (player.currentTime > 0 && player.currentTime >= player.duration - 0.1)) finish();
      else if (!player.paused && performance.now() - updated > STILL) stuck(true);
    }, 1000);
    player.addEventListener("pause", () => { count(); report(); });
    player.addEventListener("error", () => { hint.textContent = form.dataset.broken; hint.hidden = false; });
    if (replay) {
      replay.hidden = box.querySelector(".whole").hidden;
      replay.addEventListener("click", () => { player.currentTime = 0; player.play(); });
    }
  }
  check();

  // Another tab or window in front: how long, and how often.
  let gone = null, left = Promise.resolve();
  const leave = () => { gone ??= performance.now(); };
  const back = () => {
    if (gone === null || document.hidden || !document.hasFocus()) return;
    const seconds = (performance.now() - gone) / 1000;
    gone = null;
    if (seconds > 0.5) left = left.then(() => tell("", "away", seconds));
  };
  // A sign of life while the page is open, so that the place is not given to somebody else.
  setInterval(() => tell("", "alive"), 60000);
  addEventListener("blur", leave);
  addEventListener("focus", back);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : back()));

  // Before the page is left: what was played since the last report. Null where all is told; nobody waits long for it.
  return () => {
    const last = unreported.map((report) => report()).filter(Boolean);
    return last.length ? Promise.race([Promise.all(last), new Promise((go) => setTimeout(go, 2000))]) : null;
  };
}

// ── keys, clock ──

function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, select, input:not([type=radio])")) return;
    const choice = form.querySelector(`input[data-key="${CSS.escape(event.key)}"]`);
    if (choice) { choice.focus(); choice.click(); event.preventDefault(); }
    if (event.key === "Enter" && event.target.matches("input[type=radio]")) { event.preventDefault(); document.getElementById("next").click(); }
  });
}

function clock(flush, settle) {
  const place = form.querySelector(".clock");
  const until = Date.now() + Number(form.dataset.left) * 1000;
  const tick = () => {
    const left = Math.max(0, Math.round((until - Date.now()) / 1000));
    place.hidden = false;
    place.textContent = form.dataset.time.replace("{time}", `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`);
    place.classList.toggle("soon", left <= 10);
    if (left > 0) return void setTimeout(tick, 500);
    // Whoever is without a connection gets no more time than others.
    for (const part of form.querySelectorAll(".answers > :not(.go)")) part.inert = true;
    form.addEventListener("click", (event) => { if (event.target.matches("input")) event.preventDefault(); }, true);
    settle();
    // The server closes the item a little later than this, so that what is under way arrives.
    setTimeout(leave, 4000);
  };
  // What waits is saved first; and as long as the server is away, the page stays.
  const leave = async () => {
    await flush();
    try {
      await fetch(document.querySelector("link[rel=icon]").href, { cache: "no-store" });
    } catch {
      return void setTimeout(leave, 2000);
    }
    location.reload();
  };
  tick();
}

if (form) {
  const settle = watcher();
  const flush = saver(settle);
  keys();
  if (form.dataset.left !== undefined) clock(flush, settle);
}

const token = document.body.dataset.form;
if (token) deliver(token, form && STORE + form.elements.page.value);

const tongue = document.getElementById("tongue");
if (tongue) {
  tongue.form.querySelector("button").hidden = true;
  tongue.addEventListener("change", () => tongue.form.requestSubmit());
}
