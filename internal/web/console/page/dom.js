// Building and changing the page. Everything that comes from a file, a user or the
// server is inserted as text: the console never parses anything as HTML.

const svgNamespace = "http://www.w3.org/2000/svg";

// el creates an element. Attributes whose names begin with "on" are listeners.
// Attributes and children that are false, null or undefined are omitted. Children that
// are strings become text.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// svg is el for pictures.
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat().filter(Boolean));
  return node;
}

// icons are paths in a square of 24.
const icons = {
  play: "M8 5v14l11-7z",
  search: "M10 4a6 6 0 1 0 3.7 10.7l5 5 1.3-1.4-5-5A6 6 0 0 0 10 4zm0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
  upload: "M12 3l6 6-1.4 1.4L13 6.8V16h-2V6.8l-3.6 3.6L6 9zM4 18h16v2H4z",
  lock: "M7 10V8a5 5 0 0 1 10 0v2h1v10H6V10zm2 0h6V8a3 3 0 0 0-6 0z",
  globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2c.9 0 2.3 2 2.8 5H9.200c.5-3 1.900-5 2.800-5zM5.300 10a7 7 0 0 1 2.700-3.700A14 14 0 0 0 7.200 10zm0 4h1.900c.2 1.400.5 2.700.9 3.700A7 7 0 0 1 5.300 14zm6.700 5c-.9 0-2.300-2-2.800-5h5.600c-.5 3-1.900 5-2.800 5zm3.900-1.300c.4-1 .7-2.300.9-3.700h1.900a7 7 0 0 1-2.800 3.700zM16.800 10a14 14 0 0 0-.9-3.700A7 7 0 0 1 18.700 10z",
  film: "M4 5h16v14H4zm2 2v2h2V7zm0 4v2h2v-2zm0 4v2h2v-2zm10-8v2h2V7zm0 4v2h2v-2zm0 4v2h2v-2z",
  close: "M6.400 5L12 10.600 17.600 5 19 6.400 13.400 12 19 17.600 17.600 19 12 13.400 6.400 19 5 17.600 10.600 12 5 6.400z",
};

// icon returns a picture that says nothing to screen readers.
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: icons[name] }));
}

export function button(label, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, label);
}

// setText does not touch a node that already has the text, so that a selection in it
// survives polling.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// announce tells screen readers about a change.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

// problemBox shows an error in the server's words, with all invalid fields.
export function problemBox(error, ...actions) {
  const offered = actions.filter(Boolean);
  const faults = error.faults?.filter((fault) => fault.message !== error.message) ?? []; // nothing is said twice
  return el("div", { class: "problem", role: "alert" },
    el("p", {}, error.message),
    faults.length > 0 && el("ul", {}, faults.map((fault) =>
      el("li", {}, fault.field ? el("code", {}, fault.field) : null, fault.field ? " " : null, fault.message))),
    error.requestId && el("p", { class: "fine" }, "Request ", el("code", {}, error.requestId)),
    offered.length > 0 && el("p", { class: "actions" }, offered));
}

// facts shows a list of names and values. Names without a value are omitted.
export function facts(pairs) {
  const known = pairs.filter(([, value]) => ![null, undefined, "", false].includes(value));
  return el("dl", { class: "facts" }, known.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value instanceof Node ? value : String(value)))));
}

// confirmAction asks the user to confirm what cannot be undone.
export function confirmAction(question, explanation, yes, no = "Keep it") {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = el("dialog", { class: "question", "aria-labelledby": "question", onclose: () => { dialog.remove(); resolve(answer); } },
      el("h2", { id: "question" }, question),
      el("p", {}, explanation),
      el("p", { class: "actions" },
        button(no, () => dialog.close(), { autofocus: true }),
        button(yes, () => { answer = true; dialog.close(); }, { class: "danger" })));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// copyButton copies what text returns. name says what that is.
export function copyButton(name, text, label = "Copy", attributes = {}) {
  const say = (word) => {
    setText(node, word);
    setTimeout(() => setText(node, label), 2000);
  };
  const node = button(label, async () => {
    try {
      await copyText(text());
      say("Copied");
      announce(`Copied: ${name}.`);
    } catch (error) {
      say("Not copied");
      announce(error.message);
    }
  }, { class: "copy", "aria-label": `${label}: ${name}`, ...attributes });
  return node;
}

// copyText copies to the clipboard. Pages without HTTPS have only the deprecated
// execCommand.
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const field = el("textarea", { class: "unseen", "aria-hidden": "true", readonly: true });
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  before?.focus();
  if (!copied) throw new Error("The browser does not let this page copy; select the address by hand.");
}
