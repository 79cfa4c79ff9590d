// What a page does beside playing: it waits for a video that is not ready, and helps to share it.

import { speakPlayerJS } from "./frame.js";

const stage = document.querySelector("#stage");
const pause = 2500, longest = 10_000; // milliseconds between two questions

const playable = document.body.classList.contains("embed") ? speakPlayerJS(() => stage?.querySelector("spool-player")) : () => {};

if (stage) {
  const player = stage.querySelector("spool-player");
  if (player) showLook(player);
  if (stage.dataset.settled !== "true") follow();
  if (stage.dataset.renew) keepSigned(Number(stage.dataset.renew) * 1000);
  prepareSharing();
}

// follow asks how the video goes on, until it does not any more.
async function follow() {
  for (let wait = pause; ; wait = Math.min(wait * 1.1, longest)) {
    await new Promise((done) => setTimeout(done, wait));
    if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
    const state = await ask();
    if (state?.settled) return;
  }
}

// ask asks for the state of the video and shows it. It resolves to null if the server does not answer.
async function ask() {
  let state;
  try {
    const url = new URL(location.href);
    url.searchParams.set("state", "");
    const response = await fetch(url);
    if ([403, 404, 410].includes(response.status)) location.reload(); // the page says why
    if (!response.ok) return null;
    state = await response.json();
  } catch {
    return null; // the connection will be back
  }
  show(state);
  return state;
}

// keepSigned asks for other addresses before the signatures of those that the player has expire, also after a night in
// which the computer slept, and when the player finds that they have.
function keepSigned(every) {
  let due = Date.now() + every, asking = false;
  const renew = async () => {
    if (asking) return;
    asking = true;
    if (await ask()) due = Date.now() + every;
    asking = false;
  };
  setInterval(() => { if (Date.now() >= due) renew(); }, 10_000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && Date.now() >= due) renew(); });
  stage.addEventListener("spool-error", () => { if (Date.now() >= due - every / 2) renew(); });
}

function show(state) {
  const facts = document.querySelector("#facts");
  if (facts) setText(facts, state.facts);
  if (!state.playable) return showWaiting(state);
  const player = stage.querySelector("spool-player") ?? addPlayer(state);
  for (const name of ["hls", "mp4", "poster", "storyboard", "chapters"]) {
    if (state[name] && player.getAttribute(name) !== state[name]) player.setAttribute(name, state[name]);
  }
  const transcript = document.querySelector("spool-transcript"), texts = JSON.stringify(state.texts);
  if (transcript && transcript.getAttribute("texts") !== texts) transcript.setAttribute("texts", texts);
  if (state.duration > 0) player.setAttribute("duration", state.duration);
  player.setAttribute("ready", state.ready);
  player.toggleAttribute("making", state.making);
  player.toggleAttribute("silent", state.silent);
}

function showWaiting(state) {
  const waiting = stage.querySelector(".waiting");
  if (!waiting) return;
  waiting.classList.toggle("failed", state.failed);
  setText(waiting.querySelector(".heading"), state.heading);
  setText(waiting.querySelector(".message"), state.message);
  const progress = waiting.querySelector("progress");
  progress.value = state.progress;
  progress.hidden = state.failed || !state.making;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// addPlayer goes over from waiting to playing. It plays at once if the address says so.
function addPlayer(state) {
  const player = document.createElement("spool-player"), options = stage.dataset;
  const attributes = { hls: state.hls, "video-id": options.id, "video-title": options.title, "page-keys": "", eager: "" };
  for (const name of ["autoplay", "muted", "loop", "nocontrols"]) if (options[name] === "true") attributes[name] = "";
  if (options.showtitle === "true") attributes["show-title"] = "";
  for (const name of ["start", "captions", "plays"]) if (options[name]) attributes[name] = options[name];
  for (const [name, value] of Object.entries(attributes)) player.setAttribute(name, value);
  stage.classList.toggle("tall", state.tall);
  stage.replaceChildren(player);
  showLook(player);
  return player;
}

// showLook gives the player what the address of the page says: an accent colour. From then on the page around can speak
// to it.
async function showLook(player) {
  if (stage.dataset.color) player.style.setProperty("--spool-accent", stage.dataset.color);
  await customElements.whenDefined("spool-player");
  playable();
}

function prepareSharing() {
  const button = document.querySelector("#share"), box = document.querySelector("#sharing");
  if (!button) return;
  button.addEventListener("click", () => {
    box.showModal();
    showMoment();
  });
  document.querySelector("#sharing-close").addEventListener("click", () => box.close());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); }); // beside the dialog
  for (const copy of box.querySelectorAll("[data-copy]")) copy.addEventListener("click", () => copyField(copy));
  document.querySelector("#moment").addEventListener("change", showMoment);
}

// showMoment writes the link to where the player is.
function showMoment() {
  const link = document.querySelector("#link"), at = Math.floor(document.querySelector("spool-player")?.media?.currentTime ?? 0);
  const url = new URL(document.querySelector("link[rel=canonical]").href);
  if (document.querySelector("#moment").checked && at > 0) url.searchParams.set("start", at);
  link.value = url.href;
  setText(document.querySelector("#moment-time"), `${Math.floor(at / 60)}:${String(at % 60).padStart(2, "0")}`);
}

async function copyField(button) {
  const field = document.getElementById(button.dataset.copy), said = document.querySelector("#copied");
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    return setText(said, "Press Ctrl+C or ⌘C to copy."); // without https, browsers do not let a page copy
  }
  setText(said, "Copied.");
  setTimeout(() => setText(said, ""), 3000);
}
