// media-chrome writes the markup of its elements as text, with a style element in each. A strict
// content security policy refuses both: inline styles, and (trusted types) markup from text. fill
// does the same in a way that such a policy allows. build.mjs puts it in the place of innerHTML.

// The only text that comes here is media-chrome's own.
const policy = globalThis.trustedTypes?.createPolicy("spool-player", { createHTML: (text) => text });

export function fill(target, text) {
  const template = parse(text);
  if (target instanceof ShadowRoot) {
    for (const style of template.content.querySelectorAll("style")) {
      const sheet = new CSSStyleSheet({ media: style.getAttribute("media") ?? "" });
      sheet.replaceSync(style.textContent);
      sheet.name = style.id;
      target.adoptedStyleSheets.push(sheet);
      style.remove();
    }
  }
  target.replaceChildren(template.content);
}

export function prepend(target, text) {
  target.prepend(parse(text).content);
}

function parse(text) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(text) : text;
  return template;
}

// setMedia changes when a style element with an id would apply.
export function setMedia(root, id, media) {
  root.adoptedStyleSheets.find((sheet) => sheet.name === id).media.mediaText = media;
}

// getCSSRule and insertCSSRule look for rules where fill has put them.
export function getCSSRule(root, matches) {
  for (const sheet of sheetsOf(root)) {
    for (const rule of sheet.cssRules) if (matches(rule.selectorText)) return rule;
  }
}

export function insertCSSRule(root, selector) {
  const sheet = sheetsOf(root).at(-1);
  return sheet.cssRules[sheet.insertRule(`${selector}{}`, sheet.cssRules.length)];
}

function sheetsOf(root) {
  return root.adoptedStyleSheets.filter((sheet) => sheet.name === "");
}
