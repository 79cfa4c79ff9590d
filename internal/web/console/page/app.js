// The console: asks people to sign in or for the key, and shows the library, one video or the settings.

import { request, whenUnauthorized } from "./api.js";
import { AuditPage } from "./audit.js";
import { Dock } from "./dock.js";
import { announce, button, confirmAction, el, problemBox } from "./dom.js";
import { askOtherTabs, forgetEverywhere, forgetKey, isOperator, key, may, setMe, useKey, whenArrived, whenForgotten, whoAmI } from "./key.js";
import { everything, Library, sorts } from "./list.js";
import { setUpMenu } from "./menu.js";
import { SettingsPage } from "./settings.js";
import { SystemPage } from "./system.js";
import { UploadForm } from "./upload.js";

const view = document.getElementById("view");
const forget = document.getElementById("forget");
const openUpload = document.getElementById("open-upload");
const dockPlace = document.getElementById("dock");
const nav = document.querySelector(".bar nav");
const links = [...document.querySelectorAll("[data-route]")];
const notice = el("div");
const blocked = new Set(); // origins that the policy blocked

document.getElementById("trouble").append(notice);

const afterAll = 1000; // milliseconds after which what may be needed later is loaded

let home = null; // library and uploads of the current key; uploads continue on other pages
let page = null; // the page that is shown instead of the library, or null

// showOutdated says that what is shown may be out of date, and why. Without an error
// it removes the notice.
function showOutdated(error, seconds) {
  if (!error) return notice.replaceChildren();
  const next = seconds ? `Trying again in ${Math.round(seconds)} s.` : "";
  notice.replaceChildren(el("p", { class: "trouble" }, `Not up to date: ${error.message} ${next}`));
}

function makeHome() {
  const library = new Library({ onError: showOutdated, go, upload: () => home.form.open() });
  const dock = new Dock((replaces) => { library.refresh(); if (replaces && page?.id === replaces) page.follow(); });
  dockPlace.replaceChildren(dock.node);
  if (may("write")) dock.showInterrupted();
  return { library, dock, form: may("write") ? new UploadForm(dock, () => { location.hash = "#/"; library.refresh(); }) : null, address: "#/", scroll: 0 };
}

// addressOf returns the fragment that shows a query.
function addressOf(query) {
  const given = new URLSearchParams(Object.entries(query).flatMap(([name, value]) => [value].flat().filter(Boolean).map((one) => [name, one])));
  return given.size > 0 ? `#/?${given}` : "#/";
}

// go shows a query, as a step of its own for the back button or in place of the last one.
function go(query, replace) {
  const address = addressOf(query);
  if (address === addressOf(parse().query)) return;
  if (!replace) return void (location.hash = address);
  history.replaceState(null, "", address);
  route();
}

// parse reads the fragment of the URL: {page, id, tab, start, query}. The key is never a part of it.
function parse() {
  const [path, search = ""] = location.hash.replace(/^#/, "").split("?");
  const given = new URLSearchParams(search);
  const sort = given.get("sort") ?? "";
  const query = { ...everything };
  for (const name of Object.keys(query)) query[name] = name === "tag" ? given.getAll(name) : given.get(name) ?? "";
  if (!Object.hasOwn(sorts, sort)) query.sort = "";
  for (const name of ["from", "to"]) if (!/^\d{4}-\d\d-\d\d$/.test(query[name])) query[name] = "";
  const [, id, tab = ""] = /^\/video\/([0-9A-Za-z-]+)(?:\/([a-z]+))?$/.exec(path) ?? [];
  return { page: id ? "video" : ["/settings", "/system", "/audience", "/audit"].includes(path) ? path.slice(1) : "library", id, tab, start: Number.parseFloat(given.get("start") ?? ""), query };
}

const large = ["video", "audience"]; // pages that are loaded when they are opened first

// loadPage loads a large page: the page of a video is half of the console. It returns null where it cannot be loaded, and says so.
async function loadPage(name) {
  try {
    return name === "video" ? (await import("./video.js")).VideoPage : (await import("./audience.js")).AudiencePage;
  } catch {
    view.replaceChildren(problemBox(new Error("This page could not be loaded."), button("Try again", route)));
    return null;
  }
}

// pageOf makes the page that an address names. Large is the class of a large page, which was loaded for it.
function pageOf(to, Large, options) {
  switch (to.page) {
    case "audience": return new Large();
    case "audit": return new AuditPage();
    case "settings": return new SettingsPage(() => forget.click());
    case "system": return new SystemPage(showOutdated);
    default: return new Large(to.id, options);
  }
}

let routes = 0;

// route shows what the fragment of the URL names.
async function route() {
  const turn = ++routes;
  if (parse().page === "video") import("./video.js").catch(() => {}); // meanwhile
  if (!key() && !whoAmI()) await askOtherTabs();
  if (turn !== routes) return;
  if (!whoAmI() && !await identify()) return;
  const to = parse();
  const Large = large.includes(to.page) ? await loadPage(to.page) : null;
  if (turn !== routes || (large.includes(to.page) && !Large)) return;
  home ??= makeHome();
  forget.hidden = false;
  forget.textContent = whoAmI().session ? "Sign out" : "Forget key";
  openUpload.hidden = !may("write");
  nav.classList.remove("waiting");
  for (const link of links) {
    link.hidden = link.dataset.needs === "operator" && !isOperator();
    link.toggleAttribute("aria-current", link.dataset.route === to.page);
    if (link.dataset.route === to.page) link.setAttribute("aria-current", "page");
  }
  show(to, Large);
}

// identify asks what the user may do, with a key or a session. It reports whether that is known.
async function identify() {
  try {
    setMe(await request("GET", "key"));
    leaving = false;
    return true;
  } catch (error) {
    if (error.status !== 401) view.replaceChildren(problemBox(error, button("Try again", route)));
    return false;
  }
}

function show(to, Large) {
  const previous = page;
  if (to.id && previous?.id === to.id && !previous.gone) return previous.select(to.tab, to.start);
  if (!previous && home.shown) home.scroll = scrollY;
  page?.stop();
  page = null;
  showOutdated(null);
  if (to.page === "library" || to.page === "system" && !isOperator() || to.page === "audit" && !may("admin")) return showLibrary(to.query, previous);
  home.library.stop();
  home.shown = false;
  home.dock.fold();
  page = pageOf(to, Large, {
    tab: to.tab, start: to.start, known: home.library.known(to.id), upload: home.form && (() => home.form.open()), replaceFile: (file) => home.dock.add(file, { filename: file.name }, null, to.id), showOutdated, back: home.address, deleted: () => { home.library.remove(to.id); location.hash = home.address; },
  });
  view.replaceChildren(page.node);
  scrollTo(0, 0);
  page.start();
}

// showLibrary shows the library. previous is the page that was shown before, if any.
function showLibrary(query, previous) {
  document.title = "Spool";
  home.address = addressOf(query);
  if (!home.shown) view.replaceChildren(home.library.node);
  home.shown = true;
  home.library.show(query);
  setTimeout(() => import("./video.js").catch(() => {}), afterAll); // the next thing that people open
  if (!previous) return;
  home.library.refresh(); // the video may have changed meanwhile
  home.library.focus();
  scrollTo(0, home.scroll);
}

// showKeyForm asks for the key. reason is the error that rejected the last one.
function showKeyForm(reason) {
  document.title = "Spool";
  forget.hidden = openUpload.hidden = true;
  nav.classList.remove("waiting");
  for (const link of links) link.hidden = true;
  const message = el("div", {}, reason ? problemBox(reason) : "");
  const people = el("div");
  const heading = el("h1", {}, "Enter your API key");
  const submit = el("button", { type: "submit", class: "main", id: "enter" }, "Open");
  const field = el("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const remember = el("input", { type: "checkbox", id: "remember" });
  const enter = (event) => {
    event.preventDefault();
    try {
      useKey(field.value.trim(), remember.checked);
    } catch (error) {
      return message.replaceChildren(problemBox(error));
    }
    route();
  };
  view.replaceChildren(el("form", { class: "panel gate", onsubmit: enter },
    people, heading,
    el("p", {}, "Spool printed one at its first start. ", el("code", {}, "spool keys create"), " creates more."),
    message,
    el("div", { class: "field" }, el("label", { for: "key" }, "API key"), field),
    el("label", { class: "check" }, remember, el("span", {}, "Remember it on this computer")),
    el("p", { class: "fine" }, "Otherwise it is forgotten when you close the last tab of this page."),
    el("p", { class: "actions" }, submit)));
  field.focus();
  offerProvider(({ name, go }) => {
    people.replaceChildren(el("h1", {}, "Sign in"), el("p", { class: "actions" }, go));
    heading.replaceWith(el("h2", {}, "Or enter an API key"));
    submit.classList.remove("main");
    if (field.value === "") go.focus();
    announce(`You can sign in with ${name}.`);
  });
}

// offerProvider calls show with the button that signs in without a key, if the server has a provider for that.
async function offerProvider(show) {
  const response = await fetch(new URL("signin/provider", document.baseURI), { cache: "no-store", credentials: "omit" }).catch(() => null);
  const { name } = response?.ok ? await response.json().catch(() => ({})) : {};
  if (!name) return;
  const go = button(`Sign in with ${name}`, () => location.assign(new URL(`signin?to=${encodeURIComponent(location.hash)}`, document.baseURI)), { class: "main", id: "sign-in" });
  show({ name, go });
}

// signOut forgets the key and everything that was loaded with it.
function signOut(reason) {
  forgetKey();
  routes++;
  page?.stop();
  home?.library.stop();
  home?.dock.suspendAll();
  home?.form?.remove();
  dockPlace.replaceChildren();
  page = home = null;
  setMe(null);
  showOutdated(null);
  showKeyForm(reason);
}

let leaving = false; // the user signs out, so requests that are under way may be refused

forget.addEventListener("click", async () => {
  if (home?.dock.busy && !await confirmAction("Leave now?", "Files are still being uploaded. They stop; come back and choose them again to go on.", "Leave")) return;
  const { session } = whoAmI() ?? {};
  leaving = true;
  try {
    if (session) await request("DELETE", `session/${session.id}`);
  } catch (error) {
    if (error.status === 401) return; // it had ended
    leaving = false;
    return showOutdated(error);
  }
  forgetEverywhere();
  signOut();
});
openUpload.addEventListener("click", () => home.form.open());
whenUnauthorized((error) => signOut(leaving || error.code === "missing_api_key" ? undefined : error)); // no one is signed in yet
whenForgotten(() => signOut());
whenArrived(() => route());
addEventListener("hashchange", () => {
  // A question is about the page that it was asked on. The upload form keeps what was chosen.
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  route();
});
// The link that skips the navigation must not change the address, which names the page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});

// Files may be dropped anywhere. Without a listener the browser would navigate to them.
addEventListener("dragover", (event) => {
  event.preventDefault();
  if (!home?.form || !event.dataTransfer.types.includes("Files")) return;
  home.form.open();
  home.form.highlight(true);
});
addEventListener("dragleave", (event) => { if (!event.relatedTarget) home?.form?.highlight(false); });
addEventListener("drop", (event) => {
  event.preventDefault();
  if (!home?.form || event.dataTransfer.files.length === 0) return;
  home.form.highlight(false);
  home.form.open();
  home.form.add(event.dataTransfer.files);
});

// The key / searches, as on many pages.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, spool-player")) return;
  if (event.key === "/" && home?.shown) {
    event.preventDefault();
    home.library.focusSearch();
  }
});

document.addEventListener("securitypolicyviolation", (event) => {
  const origin = URL.canParse(event.blockedURI) ? new URL(event.blockedURI).origin : event.blockedURI;
  if (blocked.has(origin)) return;
  blocked.add(origin);
  const note = el("p", { class: "trouble" }, `The browser blocked this page's connection to ${origin}. Does base_url match the address that you opened? `,
    button("Dismiss", () => note.remove(), { class: "quiet" }));
  notice.after(note);
});

setUpMenu();
route();
