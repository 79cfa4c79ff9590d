// A row of pictures of a film, from its storyboard.

import { el, svg } from "./dom.js";
import { loadPlayer } from "./player.js";

const pictures = 10;

// pictureStrip returns a row that fills itself. It stays empty if there is no storyboard.
export function pictureStrip(video) {
  const node = el("div", { class: "strip", "aria-hidden": "true" });
  if (video?.storyboardUrl) fill(node, video.storyboardUrl).catch(() => {}); // it is only decoration
  return node;
}

async function fill(node, address) {
  const [{ readCues }, response] = await Promise.all([loadPlayer(), fetch(address)]);
  if (!response.ok) return;
  const cues = readCues(await response.text()).filter(({ text }) => text.includes("#xywh="));
  for (let i = 0; i < pictures && cues.length > 0; i++) {
    const { text } = cues[Math.floor((i + 0.5) * cues.length / pictures)];
    const url = new URL(text.trim(), response.url || address), place = url.hash.replace("#xywh=", "").split(",").map(Number);
    url.hash = "";
    node.append(svg("svg", { viewBox: place.join(" ") }, svg("image", { href: url.href })));
  }
}
