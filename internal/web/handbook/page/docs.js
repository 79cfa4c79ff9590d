// What the pages of the handbook do beyond being read: search, copy, tabs of samples, and requests from the reference.
import { search } from "./search.js";
import { tryOperations } from "./try.js";

const languageKey = "spool.docs.language";

search(document.getElementById("search"), document.getElementById("results"));
menu(document.getElementById("menu"), document.getElementById("nav"));
copies();
anchors();
tabs();
whereWeAre();
tryOperations();

// menu opens the contents on a phone.
function menu(button, nav) {
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", String(nav.classList.toggle("open")));
  });
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

// copies puts a button on every sample.
function copies() {
  for (const pre of document.querySelectorAll("pre")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
    const box = Object.assign(document.createElement("div"), { className: "copies" });
    pre.tabIndex = 0; // it may scroll
    pre.replaceWith(box);
    box.append(pre, button);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Press Ctrl+C";
      }
      document.getElementById("live").textContent = button.textContent;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
}

// anchors gives headings a link to themselves.
function anchors() {
  for (const heading of document.querySelectorAll(".prose :is(h2, h3)[id]")) {
    const link = Object.assign(document.createElement("a"), { className: "anchor", href: `#${heading.id}`, textContent: "#" });
    link.setAttribute("aria-label", `Link to: ${heading.textContent}`);
    heading.prepend(link);
  }
}

// tabs shows one language of each sample, the same everywhere.
function tabs() {
  const all = [...document.querySelectorAll("[data-samples]")];
  const choose = (language) => {
    for (const box of all) {
      const samples = [...box.querySelectorAll(".sample")];
      const shown = samples.find((s) => s.dataset.language === language) ?? samples[0];
      samples.forEach((s) => { s.hidden = s !== shown; });
      for (const tab of box.querySelectorAll("[role=tab]")) {
        const selected = tab.dataset.language === shown.dataset.language;
        tab.setAttribute("aria-selected", String(selected));
        tab.tabIndex = selected ? 0 : -1;
      }
    }
  };
  for (const box of all) {
    const list = document.createElement("div");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Language");
    for (const sample of box.querySelectorAll(".sample")) {
      const tab = Object.assign(document.createElement("button"), { type: "button", textContent: sample.dataset.language });
      tab.setAttribute("role", "tab");
      tab.dataset.language = sample.dataset.language;
      tab.addEventListener("click", () => {
        localStorage.setItem(languageKey, sample.dataset.language);
        const before = tab.getBoundingClientRect().top;
        choose(sample.dataset.language);
        scrollBy(0, tab.getBoundingClientRect().top - before); // samples above have another height now
      });
      sample.querySelector(".language").hidden = true;
      sample.setAttribute("role", "tabpanel");
      list.append(tab);
    }
    list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const tabs = [...list.children];
      const next = step && tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
      next?.click();
      next?.focus();
    });
    box.prepend(list);
  }
  choose(localStorage.getItem(languageKey) ?? "curl");
}

// whereWeAre marks the heading that is being read.
function whereWeAre() {
  const links = new Map([...document.querySelectorAll(".toc a")].map((a) => [a.hash.slice(1), a]));
  const headings = [...document.querySelectorAll(".prose :is(h2, h3)[id]")].filter((h) => links.has(h.id));
  if (!headings.length) return;
  const mark = () => {
    const passed = headings.filter((h) => h.getBoundingClientRect().top < 120);
    const here = passed.at(-1) ?? headings[0];
    links.forEach((link, id) => link.classList.toggle("here", id === here.id));
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}
