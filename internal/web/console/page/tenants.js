// What tenants use of their limits.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { bytes } from "./format.js";

const count = (n) => n.toLocaleString();
const minutes = (n) => `${Number(n.toFixed(n < 10 ? 1 : 0)).toLocaleString()} min`;
const size = (n) => bytes(n) || "0 bytes";

// measures are what a tenant uses: their names, the numbers, and how these are written.
const measures = [
  ["Videos", (t) => t.videos, (t) => t.limits.maxVideos, count],
  ["Uploaded files", (t) => t.bytes, (t) => t.limits.maxBytes, size],
  ["Minutes accepted today (UTC)", (t) => t.minutesToday, (t) => t.limits.maxMinutesPerDay, minutes],
  ["Being converted", (t) => t.inWork, (t) => t.limits.maxInWork, count],
];

function gauge(name, used, limit, format) {
  return el("meter", { min: 0, max: limit, high: limit * 0.9, value: used, "aria-label": `${name}: ${format(used)} of ${format(limit)}` });
}

// usageTiles shows what one tenant uses.
export function usageTiles(tenant) {
  return el("div", { class: "usage" }, measures.map(([name, of, most, format]) => {
    const [used, limit] = [of(tenant), most(tenant)];
    return el("div", {},
      el("p", { class: "fine" }, name),
      el("p", { class: "number" }, format(used), el("span", { class: "fine" }, limit > 0 ? ` of ${format(limit)}` : "")),
      limit > 0 ? gauge(name, used, limit, format) : el("p", { class: "fine" }, "no limit"));
  }));
}

// Tenants shows what all tenants use. It is hidden while the operator's own is the only tenant.
export class Tenants {
  #rows = el("tbody");
  #more = el("p", { class: "actions" });
  #problem = el("div");

  constructor() {
    const head = ["Tenant", ...measures.map(([name]) => name)];
    this.node = el("section", { class: "panel tenants", "aria-labelledby": "tenants-title", hidden: true }, el("h2", { id: "tenants-title" }, "Tenants"),
      el("p", { class: "fine" }, "What each tenant uses, and may use. Set limits with ", el("code", {}, "spool tenants set"), "."),
      el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Tenants" }, el("table", {},
        el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))), this.#rows)),
      this.#more, this.#problem);
  }

  async load(cursor = "") {
    this.#problem.replaceChildren();
    try {
      const { tenants, nextCursor } = await request("GET", `tenant?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      const rows = tenants.map(row);
      cursor ? this.#rows.append(...rows) : this.#rows.replaceChildren(...rows);
      this.#more.replaceChildren(...(nextCursor ? [button("Show more tenants", () => this.load(nextCursor))] : []));
      this.node.hidden = this.#rows.rows.length < 2;
    } catch (error) {
      if ([401, 403].includes(error.status)) return;
      this.node.hidden = false;
      this.#problem.replaceChildren(problemBox(error, button("Try again", () => this.load(cursor))));
    }
  }
}

function row(tenant) {
  return el("tr", {}, el("th", { scope: "row", dir: "auto" }, tenant.name), measures.map(([name, of, most, format]) => {
    const [used, limit] = [of(tenant), most(tenant)];
    return el("td", {}, format(used), limit > 0 && [el("span", { class: "fine" }, ` of ${format(limit)}`), gauge(`${name} of ${tenant.name}`, used, limit, format)]);
  }));
}
