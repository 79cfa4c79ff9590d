// The report on a video as pictures. Each has the same numbers as text beside it or in the
// tables below, so screen readers get a sentence instead of shapes.

import { el, svg } from "./dom.js";
import { bitrate, duration, elapsed, size } from "./format.js";

const lane = 22; // pixels
const axis = 20;

// kinds are the tasks that have a colour; others are grey.
const kinds = ["inspect", "encode", "large", "audio", "assemble", "thumbnails", "poster", "pictures", "measure", "av1", "hevc"];
const colourOf = (task) => `kind-${kinds.find((kind) => task === kind || task === `${kind}join`) ?? "other"}`;

// timeline shows when each program ran. Those that ran at the same time are below each
// other.
export function timeline(runs) {
  const timed = runs.map((run) => ({ ...run, from: new Date(run.startedAt) / 1000, to: new Date(run.startedAt) / 1000 + run.wallSeconds })).toSorted((a, b) => a.from - b.from);
  const [begin, whole] = [timed[0].from, Math.max(...timed.map((run) => run.to)) - timed[0].from || 1];
  const ends = []; // of the last run in each lane
  for (const run of timed) {
    const free = ends.findIndex((end) => end <= run.from);
    run.lane = free < 0 ? ends.length : free;
    ends[run.lane] = run.to;
  }
  const x = (seconds) => `${(100 * seconds / whole).toFixed(3)}%`;
  const height = ends.length * lane + axis;
  const moment = (seconds) => (whole < 60 ? elapsed(seconds) : duration(seconds) || "0:00"); // all of an axis alike
  const words = `${runs.length} programs ran within ${elapsed(whole)}, up to ${ends.length} at a time.`;
  const bars = timed.map((run) => svg("rect", {
    class: `run ${colourOf(run.task)}${run.result === "ok" ? "" : " bad"}`,
    x: x(run.from - begin), y: run.lane * lane + 3, width: x(Math.max(run.to - run.from, whole / 400)), height: lane - 6, rx: 3,
  }, svg("title", {}, `${run.task} ${run.number}: ${run.program}, ${elapsed(run.wallSeconds)}${run.result === "ok" ? "" : `, ${run.result}`}`)));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => svg("text", {
    x: x(share * whole), y: height - 5, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle",
  }, moment(share * whole)));
  const used = [...new Set(timed.map((run) => run.task))];
  return el("figure", { class: "chart" },
    svg("svg", { role: "img", "aria-label": words, width: "100%", height }, bars, ticks),
    el("figcaption", {}, el("span", {}, words),
      el("span", { class: "legend" }, used.map((task) => el("span", {}, svg("svg", { class: "dot", width: 10, height: 10, "aria-hidden": "true" }, svg("rect", { class: `run ${colourOf(task)}`, width: 10, height: 10, rx: 2 })), task)))));
}

// renditions shows the bit rate and the quality of each file. sameAs returns the resolution that has the same file as
// the one with a name, if any.
export function renditions(outputs, sameAs) {
  const all = Object.entries(outputs).filter(([name]) => !outputs[sameAs(name)]).map(([name, o]) => [
    [...Object.keys(outputs).filter((other) => sameAs(other) === name), name].join(" = "), o,
  ]).toSorted(([, a], [, b]) => b.bitrate - a.bitrate);
  const most = Math.max(...all.map(([, o]) => o.bitrate), 1);
  return el("figure", { class: "chart" }, el("div", { class: "bars" }, all.map(([name, o]) => el("div", { class: "bar-row" },
    el("span", { class: "bar-name" }, el("strong", {}, name), " ", el("span", { class: "fine" }, size(o.width, o.height))),
    svg("svg", { class: "bar-track", "aria-hidden": "true", width: "100%", height: 14 },
      svg("rect", { class: "track", width: "100%", height: 14, rx: 7 }),
      svg("rect", { class: "fill", width: `${Math.max(2, 100 * o.bitrate / most).toFixed(1)}%`, height: 14, rx: 7 })),
    el("span", { class: "bar-value" }, bitrate(o.bitrate)),
    el("span", { class: `quality ${grade(o.ssim)}` }, o.ssim === undefined ? "not measured" : `${words[grade(o.ssim)]} · SSIM ${o.ssim.toFixed(3)}`)))));
}

// grade says how similar to its source a picture with this SSIM looks.
function grade(ssim) {
  if (ssim === undefined) return "unknown";
  return ssim >= 0.98 ? "great" : ssim >= 0.95 ? "good" : ssim >= 0.9 ? "fair" : "poor";
}

const words = { great: "hard to tell apart", good: "very close", fair: "close", poor: "visibly different" };
