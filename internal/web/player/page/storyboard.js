// Pictures above the time line. media-chrome looks for them in a metadata track called thumbnails.

import { readCues } from "./vtt.js";

const retryPause = 20_000; // milliseconds; the storyboard of a new video is made last
const tries = 15;

// addStoryboard returns a function that stops it.
export function addStoryboard(media, url) {
  const track = [...media.textTracks].find((t) => t.label === "thumbnails") ?? media.addTextTrack("metadata", "thumbnails");
  track.mode = "hidden"; // with "disabled" there would be no cues
  for (const cue of [...track.cues ?? []]) track.removeCue(cue);
  if (!url) return () => {};
  const stop = new AbortController();
  load(track, url, stop.signal, tries);
  return () => stop.abort();
}

async function load(track, url, signal, left) {
  let response;
  try {
    response = await fetch(url, { signal });
    if (response.ok) return addPictures(track, readCues(await response.text()), response.url || url);
  } catch {
    return; // no previews then
  }
  if (response.status !== 404 || !response.headers.has("Retry-After") || left === 0) return;
  const timer = setTimeout(() => load(track, url, signal, left - 1), retryPause);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

function addPictures(track, cues, base) {
  for (const { start, end, text } of cues) if (text.includes("#xywh=")) track.addCue(new VTTCue(start, end, new URL(text.trim(), base).href));
}
