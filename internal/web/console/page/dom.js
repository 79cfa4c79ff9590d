// Building and changing the page. Everything that comes from a file, a user or the
// server is inserted as text: the console never parses anything as HTML.

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
  return el("div", { class: "problem", role: "alert" },
    el("p", {}, error.message),
    error.faults?.length > 0 && el("ul", {}, error.faults.map((fault) =>
      el("li", {}, fault.field ? el("code", {}, fault.field) : null, fault.field ? " " : null, fault.message))),
    error.requestId && el("p", { class: "fine" }, "Request ", el("code", {}, error.requestId)),
    actions.length > 0 && el("p", { class: "actions" }, actions));
}

// facts shows a list of names and values. Names without a value are omitted.
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, known.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
}

// confirmAction asks the user to confirm what cannot be undone.
export function confirmAction(question, explanation, yes) {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = el("dialog", { "aria-labelledby": "question", onclose: () => { dialog.remove(); resolve(answer); } },
      el("h2", { id: "question" }, question),
      el("p", {}, explanation),
      el("p", { class: "actions" },
        button("Keep it", () => dialog.close(), { autofocus: true }),
        button(yes, () => { answer = true; dialog.close(); }, { class: "danger" })));
    document.body.append(dialog);
    dialog.showModal();
  });
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
