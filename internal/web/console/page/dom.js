// Building and changing the page. Whatever comes from a file, a person or the
// server gets in as text: nothing in the console is ever parsed as HTML.

// el makes an element. Attributes whose names begin with "on" are listeners;
// those that are false, null or undefined are left out, and so are such
// children. Children that are strings become text.
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

// setText leaves a node alone that has the text already, so that nobody's
// selection is lost every two seconds.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// announce tells a change to those who do not see the page.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

// problemBox shows an error as the server worded it, with every fault that it
// found.
export function problemBox(error, ...actions) {
  return el("div", { class: "problem", role: "alert" },
    el("p", {}, error.message),
    error.faults?.length > 0 && el("ul", {}, error.faults.map((fault) =>
      el("li", {}, fault.field ? el("code", {}, fault.field) : null, fault.field ? " " : null, fault.message))),
    error.requestId && el("p", { class: "fine" }, "Request ", el("code", {}, error.requestId)),
    actions.length > 0 && el("p", { class: "actions" }, actions));
}

// facts is a list of names with values; those without a value are left out.
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, known.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
}

// ask wants a person to confirm what cannot be undone.
export function ask(question, explanation, yes) {
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

// copy puts a text on the clipboard. Pages without HTTPS have only the old way
// of doing so.
export async function copy(text) {
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
