// Requests from the reference. The key is the one that the console keeps in this browser, if it has one; a person who is
// signed in needs none.

const storageKey = "spool.key";

// tryOperations makes the forms of the reference send.
export function tryOperations() {
  for (const box of document.querySelectorAll("details.try")) {
    const form = box.querySelector("form");
    box.addEventListener("toggle", () => {
      const field = form.elements.key;
      field.value ||= sessionStorage.getItem(storageKey) ?? localStorage.getItem(storageKey) ?? "";
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send(box.dataset, form);
    });
  }
}

async function send({ method, path }, form) {
  const answered = form.querySelector(".answered");
  const button = form.querySelector("button");
  button.disabled = true;
  answered.replaceChildren("Sending …");
  try {
    show(answered, await request(method, path, form));
  } catch (error) {
    show(answered, { ok: false, line: `No answer: ${error.message}`, text: "" });
  }
  button.disabled = false;
}

async function request(method, path, form) {
  const url = new URL(".." + filled(path, form), location.href);
  for (const input of form.querySelectorAll("[data-in=query]")) {
    if (input.value !== "") addQuery(url, input);
  }
  const headers = new Headers();
  if (form.elements.key.value) headers.set("X-API-KEY", form.elements.key.value);
  const init = { method, headers };
  if (form.elements.body) {
    headers.set("Content-Type", "application/json");
    init.body = form.elements.body.value;
  } else if (form.elements.file) {
    headers.set("Content-Type", form.elements.type.value);
    init.body = form.elements.file.files[0] ?? "";
  }
  const began = performance.now();
  const response = await fetch(url, init);
  const took = Math.round(performance.now() - began);
  const line = `${response.status} ${response.statusText} in ${took} ms`;
  return { ok: response.ok, line, text: await bodyOf(response) };
}

// bodyOf reads an answer. A stream of events never ends, so only its beginning is shown.
async function bodyOf(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.startsWith("text/event-stream")) {
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    return new TextDecoder().decode(value);
  }
  const text = await response.text();
  return type.includes("json") ? JSON.stringify(JSON.parse(text), null, 2) : text.slice(0, 20000);
}

// filled puts the values of the form into the path.
function filled(path, form) {
  return path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.elements[name].value.trim()));
}

// addQuery adds a parameter. metadata has names of its own: KEY=VALUE is metadata.KEY=VALUE.
function addQuery(url, input) {
  if (input.name === "metadata") {
    const [key, ...value] = input.value.split("=");
    url.searchParams.append(`metadata.${key}`, value.join("="));
    return;
  }
  const values = input.name === "tag" ? input.value.split(",") : [input.value];
  for (const value of values) url.searchParams.append(input.name, value.trim());
}

function show(answered, { ok, line, text }) {
  const status = Object.assign(document.createElement("p"), { className: `status ${ok ? "good" : "bad"}`, textContent: line });
  answered.replaceChildren(status);
  if (text) {
    const pre = Object.assign(document.createElement("pre"), { tabIndex: 0 });
    pre.append(Object.assign(document.createElement("code"), { textContent: text }));
    answered.append(pre);
  }
}
