// Server-sent events, read with fetch because EventSource cannot send the key.

import { open } from "./api.js";

// The server sends the first event at once, and at least a comment every 15 seconds.
// If that does not arrive, a proxy buffers the stream.
const firstTimeout = 5000; // milliseconds
const nextTimeout = 40000;

// events yields the events of a stream until the server ends it. It throws when the
// stream breaks, when nothing arrives in time, and when the page is hidden: browsers
// share a few connections per server among all tabs.
export async function* events(path, signal) {
  const end = new AbortController();
  let timer;
  const resetTimeout = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(() => end.abort(), milliseconds);
  };
  document.addEventListener("visibilitychange", () => end.abort(), { signal: end.signal });
  resetTimeout(firstTimeout);
  try {
    const { body } = await open("GET", path, { signal: AbortSignal.any([signal, end.signal]) });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      resetTimeout(nextTimeout);
      const blocks = (text + value).split("\n\n");
      text = blocks.pop(); // the rest of it has not arrived yet
      yield* blocks.map(parse).filter((event) => event.data);
    }
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

// parse reads the lines of one event. Lines of a comment begin with a colon.
function parse(block) {
  return Object.fromEntries(block.split("\n").map((line) => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  }));
}
