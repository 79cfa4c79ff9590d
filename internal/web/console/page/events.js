// Streams of events.

import { answer } from "./api.js";

// The server sends the first event at once, and at least a comment every 15
// seconds. Where that does not arrive, something in between holds it back.
const firstWithin = 5000; // milliseconds
const nextWithin = 40000;

// events yields what the server tells, until it has told all. It fails when the
// stream breaks, when nothing arrives, and when nobody can see the page any more:
// browsers have few connections for all pages of a server together.
export async function* events(path, signal) {
  const end = new AbortController();
  let timer;
  const expect = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(() => end.abort(), milliseconds);
  };
  document.addEventListener("visibilitychange", () => end.abort(), { signal: end.signal });
  expect(firstWithin);
  try {
    const { body } = await answer("GET", path, { signal: AbortSignal.any([signal, end.signal]) });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      expect(nextWithin);
      const blocks = (text + value).split("\n\n");
      text = blocks.pop(); // goes on with what arrives next
      yield* blocks.map(parse).filter((event) => event.data);
    }
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

// parse reads the lines of one event. Those of a comment begin with a colon.
function parse(block) {
  return Object.fromEntries(block.split("\n").map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  }));
}
