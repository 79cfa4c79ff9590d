// Reading WebVTT that Spool wrote: times, and lines without tags.

const cueLine = /^(?:(\d+):)?(\d\d):(\d\d\.\d{3}) --> (?:(\d+):)?(\d\d):(\d\d\.\d{3})/;
const entities = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

// plain returns a line without tags and entities.
const plain = (line) => line.replace(/<[^>]*>/g, "").replace(/&(lt|gt|amp);/g, (e) => entities[e]);

// readCues returns the start, the end, the first line and the whole text of each cue.
export function readCues(text) {
  const cues = [], lines = text.split(/\r?\n/);
  for (let i = 0; i + 1 < lines.length; i++) {
    const found = cueLine.exec(lines[i]);
    if (!found) continue;
    const [, h1, m1, s1, h2, m2, s2] = found.map((x) => Number(x ?? 0));
    const empty = lines.indexOf("", i), said = lines.slice(i + 1, empty < 0 ? undefined : empty);
    cues.push({ start: h1 * 3600 + m1 * 60 + s1, end: h2 * 3600 + m2 * 60 + s2, text: lines[i + 1].replace(/&(lt|gt|amp);/g, (e) => entities[e]), whole: said.map(plain).join(" ") });
  }
  return cues;
}
