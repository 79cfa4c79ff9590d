// The player.js protocol: a page that shows this one in a frame plays, pauses and seeks with messages, as it does with the
// players of other hosts. https://github.com/embedly/player.js describes the messages.

const context = "player.js", version = "0.0.11";
const events = ["ready", "play", "pause", "ended", "timeupdate", "progress", "seeked", "error"];

// speakPlayerJS answers messages of the page around. player returns the player, or null while the video cannot be played.
// It returns a function to call when there is a player.
export function speakPlayerJS(player) {
  if (parent === window) return () => {};
  const listeners = new Map(events.map((event) => [event, new Set()]));
  const waiting = []; // methods that came before there was a player
  let ready = false;

  const send = (event, value, listener) => {
    // The page around gave this address to the frame, so it may know it. Events say nothing else that is secret.
    parent.postMessage(JSON.stringify({ context, version, event, value, listener: listener ?? undefined }), "*");
  };
  const emit = (event, value) => listeners.get(event).forEach((listener) => send(event, value, listener));
  const sendReady = (listener) => send("ready", { src: location.href, events, methods: [...Object.keys(methods), "addEventListener", "removeEventListener"] }, listener);

  const call = ({ method, value, listener }) => {
    if (method === "addEventListener" && listeners.has(value)) {
      listeners.get(value).add(listener ?? null);
      if (value === "ready" && ready) sendReady(listener);
    } else if (method === "removeEventListener") {
      listeners.get(value)?.delete(listener ?? null);
    } else if (!Object.hasOwn(methods, method)) {
      emit("error", { code: 3, msg: `Method not supported: ${method}` });
    } else if (!player()) {
      waiting.push({ method, value, listener });
    } else {
      const answer = methods[method](player().media, value);
      if (method.startsWith("get")) send(method, answer, listener);
    }
  };

  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    const message = read(data);
    if (message?.context === context && typeof message.method === "string") call(message);
  });

  return () => {
    if (ready) return;
    ready = true;
    tell(player(), emit);
    listeners.get("ready").size ? listeners.get("ready").forEach(sendReady) : sendReady();
    waiting.splice(0).forEach(call);
  };
}

const methods = {
  play: (media) => { media.play().catch(() => {}); }, // browsers refuse it before the first click
  pause: (media) => media.pause(),
  getPaused: (media) => media.paused,
  mute: (media) => { media.muted = true; },
  unmute: (media) => { media.muted = false; },
  getMuted: (media) => media.muted,
  setVolume: (media, percent) => { media.volume = Math.min(Math.max(Number(percent) / 100 || 0, 0), 1); },
  getVolume: (media) => media.volume * 100,
  getDuration: (media) => lengthOf(media),
  setCurrentTime: (media, seconds) => { if (Number.isFinite(Number(seconds))) media.currentTime = Number(seconds); },
  getCurrentTime: (media) => media.currentTime,
  setLoop: (media, loop) => { media.loop = Boolean(loop); },
  getLoop: (media) => media.loop,
};

// tell passes on what the player does.
function tell(player, emit) {
  const { media } = player;
  for (const event of ["play", "pause", "ended", "seeked"]) media.addEventListener(event, () => emit(event));
  media.addEventListener("timeupdate", () => emit("timeupdate", { seconds: media.currentTime, duration: lengthOf(media) }));
  media.addEventListener("progress", () => emit("progress", { percent: loaded(media) }));
  player.addEventListener("spool-error", (event) => emit("error", { code: 1, msg: event.detail.message }));
}

// lengthOf is the length of the whole video, also before any of it is loaded.
function lengthOf(media) {
  if (Number.isFinite(media.duration)) return media.duration;
  return Number(document.querySelector("spool-player")?.getAttribute("duration")) || 0;
}

// loaded is how much of the video is buffered up to its furthest end, from 0 to 1.
function loaded(media) {
  const { buffered } = media, length = lengthOf(media);
  return buffered.length && length ? Math.min(buffered.end(buffered.length - 1) / length, 1) : 0;
}

function read(data) {
  if (typeof data !== "string") return data;
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
