// Webhooks and the log of their deliveries.

import { request } from "./api.js";
import { announce, button, confirmAction, copyText, el, problemBox, setText } from "./dom.js";
import { ago, dateTime } from "./format.js";
import { may } from "./key.js";

const types = ["video.upload_completed", "video.playable", "video.resolution_ready", "video.ready", "video.failed", "video.expiring", "video.deleted",
  "video.replaced", "video.replace_failed"];

// Webhooks shows the webhooks of the tenant. It is hidden if the server has none of them.
export class Webhooks {
  #list = el("ul", { class: "hooks" });
  #problem = el("div");
  #secret = el("div");
  #url = el("input", { type: "url", id: "hook-url", required: true, placeholder: "Where events are sent to", autocomplete: "off" });
  #description = el("input", { type: "text", id: "hook-description", autocomplete: "off" });
  #boxes = types.map((type) => el("input", { type: "checkbox", value: type }));

  constructor() {
    this.node = el("section", { class: "panel", "aria-labelledby": "hooks-title", hidden: true }, el("h2", { id: "hooks-title" }, "Webhooks"),
      el("p", { class: "fine" }, "Spool sends your programs an event when something happens to a video, signed as Standard Webhooks."),
      this.#secret, this.#list, this.#problem, this.#form());
  }

  #form() {
    const field = (label, input) => el("div", { class: "field" }, el("label", { for: input.id }, label), input);
    return el("details", {}, el("summary", {}, "Add a webhook"),
      el("form", { onsubmit: (event) => { event.preventDefault(); this.#add(); } },
        field("Address", this.#url), field("Description (optional)", this.#description),
        el("fieldset", {}, el("legend", {}, "Events (none ticked: all)"), el("div", { class: "chips" },
          this.#boxes.map((box) => el("label", { class: "chip" }, box, el("span", {}, box.value))))),
        el("p", { class: "actions" }, el("button", { type: "submit", class: "main" }, "Add webhook"))));
  }

  async load() {
    try {
      const { webhooks } = await request("GET", "webhook");
      this.node.hidden = false;
      this.#list.replaceChildren(...webhooks.map((hook) => this.#row(hook)));
    } catch (error) {
      this.node.hidden = error.status === 404; // this server has no webhooks
      if (![401, 404].includes(error.status)) this.#problem.replaceChildren(problemBox(error, button("Try again", () => this.load())));
    }
  }

  #row(hook) {
    const log = el("div");
    const path = `webhook/${encodeURIComponent(hook.id)}`;
    return el("li", { class: "hook" },
      el("div", { class: "line" }, el("strong", { class: "name" }, nameOf(hook)), el("span", { class: `badge ${hook.enabled ? "ready" : "fail"}` }, hook.enabled ? "on" : "off")),
      el("p", { class: "meta" }, [hook.url && hook.description, hook.events.length > 0 ? hook.events.join(", ") : "all events"].filter(Boolean).join(" · ")),
      el("p", { class: "actions" },
        button("Send a test", () => this.#try(async () => { await request("POST", `${path}/test`); announce("A test event is on its way."); await this.#showLog(path, log); })),
        button("Log", () => this.#try(() => this.#showLog(path, log))),
        button(hook.enabled ? "Turn off" : "Turn on", () => this.#try(async () => { await request("PATCH", path, { body: { enabled: !hook.enabled } }); await this.load(); })),
        button("New secret", () => this.#rotate(path, nameOf(hook))),
        button("Delete", () => this.#remove(path, nameOf(hook)), { class: "quiet danger", "aria-label": `Delete the webhook ${nameOf(hook)}` })),
      log);
  }

  async #add() {
    await this.#try(async () => {
      const events = this.#boxes.filter((box) => box.checked).map((box) => box.value);
      const description = this.#description.value.trim();
      const hook = await request("POST", "webhook", { body: { url: this.#url.value.trim(), ...(events.length > 0 && { events }), ...(description && { description }) } });
      this.#showSecret(nameOf(hook), hook.secret);
      this.#url.value = this.#description.value = "";
      await this.load();
    });
  }

  async #rotate(path, name) {
    if (!await confirmAction("Make a new secret?", "The old one keeps signing for 24 hours, so that you can change it in your program.", "New secret")) return;
    await this.#try(async () => this.#showSecret(name, (await request("POST", `${path}/rotate-secret`)).secret));
  }

  async #remove(path, name) {
    if (!await confirmAction(`Delete the webhook ${name}?`, "Events that wait for it are dropped. This cannot be undone.", "Delete")) return;
    await this.#try(async () => { await request("DELETE", path); await this.load(); });
  }

  // showSecret shows a secret, this once.
  #showSecret(name, secret) {
    const copy = button("Copy", () => copyText(secret).then(() => setText(copy, "Copied"), (error) => announce(error.message)));
    this.#secret.replaceChildren(el("div", { class: "note", role: "status" },
      el("p", {}, `The secret of ${name}. It is shown this once:`), el("p", { class: "actions" }, el("code", {}, secret), copy)));
  }

  async #try(action) {
    this.#problem.replaceChildren();
    try {
      await action();
    } catch (error) {
      this.#problem.replaceChildren(problemBox(error));
    }
  }

  // showLog shows the last deliveries. While one has not been tried yet, it looks again. old
  // is the table that it showed before, which stays as long as it has the focus.
  async #showLog(path, node, looks = 30, old = null) {
    const { deliveries } = await request("GET", `${path}/deliveries?limit=20`);
    if (old?.contains(document.activeElement)) return this.#lookAgain(path, node, looks, old);
    const replay = (id) => this.#try(async () => { await request("POST", `webhook/delivery/${encodeURIComponent(id)}/replay`); await this.#showLog(path, node); });
    const shown = deliveryTable(deliveries, replay, (delivery) => this.#try(() => showMessage(delivery)));
    node.replaceChildren(shown);
    if (looks === 0 || !deliveries.some((d) => d.state === "pending" && !d.attempts?.length)) return;
    this.#lookAgain(path, node, looks - 1, shown);
  }

  #lookAgain(path, node, looks, shown) {
    setTimeout(() => {
      if (!shown.isConnected) return;
      if (shown.contains(document.activeElement)) return this.#lookAgain(path, node, looks, shown);
      this.#showLog(path, node, looks, shown).catch(() => {}); // the button Log says what is wrong
    }, 1000);
  }
}

// nameOf is the address that a webhook sends to. One of spool webhooks listen has none: the program asks for its events.
function nameOf(hook) {
  return hook.url || hook.description || "Fetched by a program";
}

// showMessage shows what is sent for a delivery.
async function showMessage(delivery) {
  const { body } = await request("GET", `webhook/delivery/${encodeURIComponent(delivery.id)}/message`);
  const dialog = el("dialog", { class: "message", "aria-labelledby": "message", onclose: () => dialog.remove() },
    el("div", { class: "line" }, el("h2", { id: "message" }, delivery.type), button("Close", () => dialog.close(), { autofocus: true })),
    el("p", { class: "fine" }, "webhook-id: ", el("code", {}, delivery.eventId)),
    el("pre", { tabindex: 0, role: "region", "aria-label": "The message" }, JSON.stringify(JSON.parse(body), null, 2)));
  document.body.append(dialog);
  dialog.showModal();
}

function deliveryTable(deliveries, replay, message) {
  if (deliveries.length === 0) return el("p", { class: "fine" }, "Nothing was sent yet.");
  const rows = deliveries.map((d) => {
    const last = d.attempts?.at(-1);
    return el("tr", {}, el("td", {}, d.type), el("td", {}, d.videoId ? el("a", { href: `#/video/${encodeURIComponent(d.videoId)}`, title: d.videoId }, `…${d.videoId.slice(-8)}`) : "–"), el("td", {}, el("span", { class: `badge ${{ delivered: "ready", failed: "fail" }[d.state] ?? "processing"}` }, d.state)),
      el("td", {}, last ? `${last.status || last.error} · ${last.milliseconds} ms` : "–"),
      el("td", {}, last ? el("time", { datetime: last.at, title: dateTime(last.at) }, ago(last.at)) : "waiting"),
      el("td", {}, el("span", { class: "actions" }, may("read") && button("Message", () => message(d), { class: "quiet", "aria-label": `Show the message of ${d.type}` }),
        d.state !== "pending" && button("Send again", () => replay(d.id), { class: "quiet" }))));
  });
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Deliveries" }, el("table", {},
    el("thead", {}, el("tr", {}, ["Event", "Video", "State", "Answer", "Last try", "Action"].map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows)));
}
