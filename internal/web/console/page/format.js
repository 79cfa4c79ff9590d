// Numbers, times and statuses as text.

import { shortSides } from "./resolutions.js";

export const statuses = {
  pending_upload: "waiting for upload",
  processing: "converting",
  ready: "ready",
  fail: "failed",
};

// waits reports whether a video waits for a worker.
export function waits(video) {
  return video.status === "processing" && video.progress === 0 && !video.playable;
}

// statusOf is the status of a video as people read it.
export function statusOf(video) {
  if (waits(video)) return video.videosAhead === 0 ? "starting" : "waiting";
  return statuses[video.status] ?? video.status;
}

// place says how many of the tenant's videos are converted before a waiting one.
export function place(video) {
  return video.videosAhead > 0 ? `after ${video.videosAhead.toLocaleString()} of your videos` : "";
}

// stem returns a file name without its extension, which is the title that the server makes of it.
export function stem(name) {
  return name.replace(/\.[^.]+$/, "") || name;
}

export function bytes(n) {
  if (!n) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(Math.floor(Math.log10(n) / 3), units.length - 1);
  const value = n / 1000 ** step;
  return `${value >= 100 || step === 0 ? Math.round(value) : value.toFixed(1)} ${units[step]}`;
}

export function bitrate(n) {
  if (!n) return "";
  return n >= 1e6 ? `${(n / 1e6).toFixed(1)} Mbit/s` : `${Math.round(n / 1e3)} kbit/s`;
}

export function size(width, height) {
  return width && height ? `${width} × ${height}` : "";
}

// duration formats the duration of a video as players do.
export function duration(seconds) {
  if (!seconds) return "";
  if (seconds < 1) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

// elapsed formats how long something took.
export function elapsed(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const steps = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];

// ago formats a time relative to now: "5 minutes ago".
export function ago(time) {
  let n = Math.max(0, (Date.now() - new Date(time)) / 1000);
  if (n < 60) return "just now";
  for (const [unit, next] of steps) {
    if (n < next) return new Intl.RelativeTimeFormat("en").format(-Math.floor(n), unit);
    n /= next;
  }
  return "";
}

export function dateTime(time) {
  return new Date(time).toLocaleString();
}

export function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

// compared says how a size differs from another one: "38 % smaller".
export function compared(n, other) {
  const share = Math.round(100 * (1 - n / other));
  if (!Number.isFinite(share)) return "";
  return share === 0 ? "same size" : share > 0 ? `${share} % smaller` : `${-share} % larger`;
}

// codecNames are what people call codecs.
export const codecNames = { h264: "H.264", av1: "AV1", hevc: "HEVC" };

// plural formats a count: "1 file", "2 files".
export function plural(n, word) {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

// titleOf is what people call a video.
export function titleOf(video) {
  return video.title || video.filename.replace(/\.[^.]+$/, "") || video.filename;
}

// largest returns the ready resolution with the most pixels, or undefined.
export function largest(video) {
  return Object.values(video.resolutions).filter((r) => r.status === "ready" && r.width).toSorted((a, b) => b.width * b.height - a.width * a.height)[0];
}

// isPlayed reports whether a player can play something of a video.
export function isPlayed(video) {
  return video.playable || Boolean(largest(video));
}

// isTall reports whether the picture is higher than wide.
export function isTall(video) {
  const shape = largest(video) ?? Object.values(video.resolutions).find((r) => r.width);
  return Boolean(shape) && shape.height > shape.width;
}

// pictureSize returns the size of the largest resolution, also while that is still being made. Before the file was
// looked at, it says what was asked for: a small video keeps its size under every name.
export function pictureSize(video) {
  const all = Object.entries(video.resolutions);
  const [, best] = all.filter(([, r]) => r.width).toSorted(([, a], [, b]) => b.width * b.height - a.width * a.height)[0] ?? [];
  if (best) return size(best.width, best.height);
  const [name] = all.filter(([, r]) => r.status !== "fail").toSorted(([a], [b]) => shortSides[b] - shortSides[a])[0] ?? [];
  return name ? `up to ${name}` : "";
}
