// The console: asks for the key, and shows the list or one video.

import { forgetKey, key, useKey, whenRefused } from "./api.js";
import { ask, button, el, problemBox } from "./dom.js";
import { List } from "./list.js";
import { Uploads } from "./upload.js";
import { VideoPage } from "./video.js";

const view = document.getElementById("view");
const forget = document.getElementById("forget");
const stale = el("div");
const blocked = new Set(); // origins that the browser kept us from

document.getElementById("trouble").append(stale);

let home = null; // what one key gets to see; uploads go on while a video is shown
let page = null; // the video that is shown, if one is

// trouble tells that what is on display may be out of date, and why.
function trouble(error, seconds) {
  if (!error) return stale.replaceChildren();
  const next = seconds ? `Trying again in ${Math.round(seconds)} s.` : "";
  stale.replaceChildren(el("p", { class: "trouble" }, `Not up to date: ${error.message} ${next}`));
}

function makeHome() {
  const list = new List(trouble);
  const changed = (id) => list.changed(id).catch((error) => trouble(error, 0));
  const uploads = new Uploads(changed, (id) => list.gone(id));
  return { list, uploads, changed, scroll: 0, node: el("div", { class: "stack" }, el("h1", { class: "unseen" }, "Console"), uploads.node, list.node) };
}

// route shows what the part of the address after # names. The key is never a
// part of it.
function route() {
  const seen = page;
  if (!seen && home) home.scroll = scrollY;
  page?.stop();
  page = null;
  trouble(null);
  if (!key()) return showGate();
  forget.hidden = false;
  home ??= makeHome();
  const [, id] = /^#\/video\/([0-9A-Za-z-]+)$/.exec(location.hash) ?? [];
  if (id) showVideo(id);
  else showHome(seen);
}

// showHome shows uploads and the list. seen is the page that one comes from, if
// it is that of a video: the video may have changed meanwhile.
function showHome(seen) {
  document.title = "Spool";
  view.replaceChildren(home.node);
  home.list.start();
  if (!seen) return;
  if (!seen.gone) home.changed(seen.id);
  home.list.focus();
  scrollTo(0, home.scroll);
}

function showVideo(id) {
  home.list.stop();
  page = new VideoPage(id, { trouble, deleted: () => { home.list.gone(id); location.hash = "#/"; } });
  view.replaceChildren(page.node);
  page.start();
}

// showGate asks for the key. refusal is why the last one was not accepted.
function showGate(refusal) {
  document.title = "Spool";
  forget.hidden = true;
  const said = el("div", {}, refusal ? problemBox(refusal) : "");
  const field = el("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const enter = (event) => {
    event.preventDefault();
    try {
      useKey(field.value.trim());
    } catch (error) {
      return said.replaceChildren(problemBox(error));
    }
    route();
  };
  view.replaceChildren(el("form", { class: "panel gate", onsubmit: enter },
    el("h1", {}, "Give your API key"),
    el("p", {}, "Spool printed it at its first start. ", el("code", {}, "spool keys create"), " makes more."),
    said,
    el("div", { class: "field" }, el("label", { for: "key" }, "API key"), field),
    el("p", { class: "fine" }, "It stays in this tab and is forgotten when you close it."),
    el("p", { class: "actions" }, el("button", { type: "submit", class: "main", id: "enter" }, "Open"))));
  field.focus();
}

// leave forgets the key and everything that was seen with it.
function leave(refusal) {
  forgetKey();
  page?.stop();
  home?.list.stop();
  page = home = null;
  trouble(null);
  showGate(refusal);
}

forget.addEventListener("click", async () => {
  if (home?.uploads.busy && !await ask("Forget the key now?", "Files are still being uploaded. They would be lost.", "Forget")) return;
  leave();
});
whenRefused(leave);
addEventListener("hashchange", route);

// A file that misses the drop zone would otherwise be opened in place of the page.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());

document.addEventListener("securitypolicyviolation", (event) => {
  const origin = URL.canParse(event.blockedURI) ? new URL(event.blockedURI).origin : event.blockedURI;
  if (blocked.has(origin)) return;
  blocked.add(origin);
  const note = el("p", { class: "trouble" }, `The browser keeps this page from reaching ${origin}. Is base_url the address by which you opened it? `,
    button("Dismiss", () => note.remove(), { class: "quiet" }));
  stale.after(note);
});

route();
