// The form that changes tags and expiry of the selected videos.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { plural } from "./format.js";

const atOnce = 100; // videos that the server changes in one request

const split = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

const mostOffered = 24; // tags

// ticks are boxes for tags, in a fieldset.
function ticks(legend, tags) {
  const boxes = tags.map((tag) => el("input", { type: "checkbox", value: tag }));
  const node = boxes.length > 0 && el("fieldset", {}, el("legend", {}, legend), el("div", { class: "chips" }, boxes.map((box) => el("label", { class: "chip" }, box, el("span", { dir: "auto" }, box.value)))));
  return { node, chosen: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

// editMany asks what to change of videos. known are tags to offer. It resolves to the changed videos, or null.
export function editMany(videos, known) {
  return new Promise((resolve) => {
    let changed = null;
    const add = el("input", { type: "text", id: "bulk-add", dir: "auto", autocomplete: "off", placeholder: "course, 2026" });
    const present = [...new Set(videos.flatMap((video) => video.tags ?? []))].toSorted((a, b) => a.localeCompare(b));
    const more = ticks("Add tags", known.filter((tag) => !videos.every((video) => video.tags?.includes(tag))).slice(0, mostOffered));
    const less = ticks("Remove tags", present);
    const expiry = el("select", { id: "bulk-expiry" }, [["", "Leave as it is"], ["at", "Delete at a time"], ["never", "Never delete by itself"]].map(([value, text]) => el("option", { value }, text)));
    const at = el("input", { type: "datetime-local", id: "bulk-at", "aria-label": "Time of the deletion", hidden: true });
    const problem = el("div"), apply = el("button", { type: "submit", class: "main" }, `Change ${plural(videos.length, "video")}`);
    expiry.addEventListener("change", () => { at.hidden = at.disabled = expiry.value !== "at"; at.required = !at.hidden; });
    const changes = () => {
      const tags = { add: [...more.chosen(), ...split(add.value)], remove: less.chosen() };
      return {
        ...(tags.add.length + tags.remove.length > 0 && { tags }),
        ...(expiry.value === "never" && { expiresAt: null }), ...(expiry.value === "at" && { expiresAt: new Date(at.value).toISOString() }),
      };
    };
    const submit = async (event) => {
      event.preventDefault();
      const body = changes();
      if (Object.keys(body).length === 0) return problem.replaceChildren(problemBox(new Error("Choose what to change.")));
      apply.disabled = true;
      try {
        for (let from = 0; from < videos.length; from += atOnce) {
          const answer = await request("PATCH", "video", { body: { ...body, ids: videos.slice(from, from + atOnce).map((video) => video.id) } });
          changed = [...(changed ?? []), ...answer.videos];
        }
        dialog.close();
      } catch (error) {
        problem.replaceChildren(problemBox(error));
      } finally {
        apply.disabled = false;
      }
    };
    const dialog = el("dialog", { class: "sheet", "aria-labelledby": "bulk-title", onclose: () => { dialog.remove(); resolve(changed); } },
      el("h2", { id: "bulk-title" }, `Change ${plural(videos.length, "video")}`),
      el("form", { onsubmit: submit },
        more.node,
        el("div", { class: "field" }, el("label", { for: "bulk-add" }, "Add new tags, separated by commas"), add),
        less.node,
        el("div", { class: "field" }, el("label", { for: "bulk-expiry" }, "Expiry"), el("div", { class: "joined" }, expiry, at)),
        problem,
        el("p", { class: "actions" }, button("Cancel", () => dialog.close()), apply)));
    at.disabled = true;
    document.body.append(dialog);
    dialog.showModal();
    add.focus();
  });
}
