// The form that changes tags, expiry and visibility of the selected videos.

import { request } from "./api.js";
import { button, el, problemBox } from "./dom.js";
import { plural } from "./format.js";
import { ExpiryField, tagField, ticks } from "./organise.js";

const atOnce = 100; // videos that the server changes in one request

const mostOffered = 24; // tags

// editMany asks what to change of videos. known are tags to offer. It resolves to the changed videos, with isPublic
// if they are to become public or private, or to null.
export function editMany(videos, known) {
  return new Promise((resolve) => {
    let outcome = null;
    const add = tagField("bulk-add", "Add new tags, separated by commas");
    const present = [...new Set(videos.flatMap((video) => video.tags ?? []))].toSorted((a, b) => a.localeCompare(b));
    const more = ticks("Add tags", known.filter((tag) => !videos.every((video) => video.tags?.includes(tag))).slice(0, mostOffered));
    const less = ticks("Remove tags", present);
    const expiry = new ExpiryField("bulk", "Leave as it is");
    const access = el("select", { id: "bulk-access" }, [["", "Leave as it is"], ["public", "Everybody who has the address"], ["private", "Only people with a signed link"]].map(([value, text]) => el("option", { value }, text)));
    const accessNote = el("p", { class: "fine", hidden: true }, "Addresses that were given out before stop working.");
    access.addEventListener("change", () => { accessNote.hidden = access.value === ""; });
    const problem = el("div"), apply = el("button", { type: "submit", class: "main" }, `Change ${plural(videos.length, "video")}`);
    const changes = () => {
      const tags = { add: [...more.chosen(), ...add.tags()], remove: less.chosen() };
      return { ...(tags.add.length + tags.remove.length > 0 && { tags }), ...expiry.change };
    };
    const submit = async (event) => {
      event.preventDefault();
      apply.disabled = true;
      try {
        const body = changes();
        const fields = Object.keys(body).length > 0;
        if (!fields && !access.value) throw new Error("Choose what to change.");
        const changed = [];
        for (let from = 0; fields && from < videos.length; from += atOnce) {
          const answer = await request("PATCH", "video", { body: { ...body, ids: videos.slice(from, from + atOnce).map((video) => video.id) } });
          changed.push(...answer.videos);
        }
        outcome = { changed, ...(access.value && { isPublic: access.value === "public" }) };
        dialog.close();
      } catch (error) {
        problem.replaceChildren(problemBox(error));
      } finally {
        apply.disabled = false;
      }
    };
    const dialog = el("dialog", { class: "sheet", "aria-labelledby": "bulk-title", onclose: () => { dialog.remove(); resolve(outcome); } },
      el("h2", { id: "bulk-title" }, `Change ${plural(videos.length, "video")}`),
      el("form", { onsubmit: submit },
        more.node,
        add.node,
        less.node,
        expiry.node,
        el("div", { class: "field" }, el("label", { for: "bulk-access" }, "Who may watch"), access, accessNote),
        problem,
        el("p", { class: "actions" }, button("Cancel", () => dialog.close()), apply)));
    document.body.append(dialog);
    dialog.showModal();
    add.input.focus();
  });
}
