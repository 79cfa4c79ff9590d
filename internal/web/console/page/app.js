// The console: asks for the key and shows the list or one video.

import { forgetKey, key, useKey, whenUnauthorized } from "./api.js";
import { button, confirmAction, el, problemBox } from "./dom.js";
import { List } from "./list.js";
import { Uploads } from "./upload.js";
import { VideoPage } from "./video.js";

const view = document.getElementById("view");
const forget = document.getElementById("forget");
const notice = el("div");
const blocked = new Set(); // origins that the policy blocked

document.getElementById("trouble").append(notice);

let home = null; // uploads and list of the current key; uploads continue while a video is shown
let page = null; // the page of the video that is shown, or null

// showOutdated says that what is shown may be out of date, and why. Without an error
// it removes the notice.
function showOutdated(error, seconds) {
  if (!error) return notice.replaceChildren();
  const next = seconds ? `Trying again in ${Math.round(seconds)} s.` : "";
  notice.replaceChildren(el("p", { class: "trouble" }, `Not up to date: ${error.message} ${next}`));
}

function makeHome() {
  const list = new List(showOutdated);
  const refresh = (id) => list.refresh(id).catch((error) => showOutdated(error, 0));
  const uploads = new Uploads(refresh, (id) => list.remove(id));
  return { list, uploads, refresh, scroll: 0, node: el("div", { class: "stack" }, el("h1", { class: "unseen" }, "Console"), uploads.node, list.node) };
}

// route shows what the fragment of the URL names. The key is never a part of it.
function route() {
  const previous = page;
  if (!previous && home) home.scroll = scrollY;
  page?.stop();
  page = null;
  showOutdated(null);
  if (!key()) return showKeyForm();
  forget.hidden = false;
  home ??= makeHome();
  const [, id] = /^#\/video\/([0-9A-Za-z-]+)$/.exec(location.hash) ?? [];
  if (id) showVideo(id);
  else showHome(previous);
}

// showHome shows uploads and the list. previous is the page of the video that was
// shown before, if any: the video may have changed meanwhile.
function showHome(previous) {
  document.title = "Spool";
  view.replaceChildren(home.node);
  home.list.start();
  if (!previous) return;
  if (!previous.gone) home.refresh(previous.id);
  home.list.focus();
  scrollTo(0, home.scroll);
}

function showVideo(id) {
  home.list.stop();
  page = new VideoPage(id, { showOutdated, deleted: () => { home.list.remove(id); location.hash = "#/"; } });
  view.replaceChildren(page.node);
  page.start();
}

// showKeyForm asks for the key. reason is the error that rejected the last one.
function showKeyForm(reason) {
  document.title = "Spool";
  forget.hidden = true;
  const message = el("div", {}, reason ? problemBox(reason) : "");
  const field = el("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const enter = (event) => {
    event.preventDefault();
    try {
      useKey(field.value.trim());
    } catch (error) {
      return message.replaceChildren(problemBox(error));
    }
    route();
  };
  view.replaceChildren(el("form", { class: "panel gate", onsubmit: enter },
    el("h1", {}, "Enter your API key"),
    el("p", {}, "Spool printed one at its first start. ", el("code", {}, "spool keys create"), " creates more."),
    message,
    el("div", { class: "field" }, el("label", { for: "key" }, "API key"), field),
    el("p", { class: "fine" }, "It stays in this tab and is forgotten when you close it."),
    el("p", { class: "actions" }, el("button", { type: "submit", class: "main", id: "enter" }, "Open"))));
  field.focus();
}

// signOut forgets the key and everything that was loaded with it.
function signOut(reason) {
  forgetKey();
  page?.stop();
  home?.list.stop();
  page = home = null;
  showOutdated(null);
  showKeyForm(reason);
}

forget.addEventListener("click", async () => {
  if (home?.uploads.busy && !await confirmAction("Forget the key now?", "Files are still being uploaded. They would be lost.", "Forget")) return;
  signOut();
});
whenUnauthorized(signOut);
addEventListener("hashchange", route);

// Otherwise the browser would navigate to a file dropped outside the drop zone.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());

document.addEventListener("securitypolicyviolation", (event) => {
  const origin = URL.canParse(event.blockedURI) ? new URL(event.blockedURI).origin : event.blockedURI;
  if (blocked.has(origin)) return;
  blocked.add(origin);
  const note = el("p", { class: "trouble" }, `The browser blocked this page's connection to ${origin}. Does base_url match the address that you opened? `,
    button("Dismiss", () => note.remove(), { class: "quiet" }));
  notice.after(note);
});

route();
