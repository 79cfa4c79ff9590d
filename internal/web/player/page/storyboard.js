// Pictures above the time line. media-chrome looks for them in a metadata track called thumbnails.

const retryPause = 20_000; // milliseconds; the storyboard of a new video is made last
const tries = 15;
const cueLine = /^(?:(\d+):)?(\d\d):(\d\d\.\d{3}) --> (?:(\d+):)?(\d\d):(\d\d\.\d{3})/;

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
    if (response.ok) return parse(await response.text(), response.url || url).forEach((cue) => track.addCue(cue));
  } catch {
    return; // no previews then
  }
  if (response.status !== 404 || !response.headers.has("Retry-After") || left === 0) return;
  const timer = setTimeout(() => load(track, url, signal, left - 1), retryPause);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

// parse reads the few things that a storyboard has: times, and a picture with #xywh=.
function parse(text, base) {
  const cues = [], lines = text.split(/\r?\n/);
  for (let i = 0; i + 1 < lines.length; i++) {
    const found = cueLine.exec(lines[i]);
    if (!found || !lines[i + 1].includes("#xywh=")) continue;
    const [, h1, m1, s1, h2, m2, s2] = found.map((x) => Number(x ?? 0));
    cues.push(new VTTCue(h1 * 3600 + m1 * 60 + s1, h2 * 3600 + m2 * 60 + s2, new URL(lines[i + 1].trim(), base).href));
  }
  return cues;
}
