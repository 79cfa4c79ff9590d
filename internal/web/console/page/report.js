// The report on a video.

import { renditions, timeline } from "./chart.js";
import { button, el, facts, problemBox } from "./dom.js";
import { bitrate, bytes, codecNames, compared, duration, elapsed, plural, size } from "./format.js";

// Report shows the report on a video.
export class Report {
  #page;
  #shown = null;
  #body = el("div", {}, el("p", { class: "fine" }, "Loading…"));

  constructor(page) {
    this.#page = page;
    this.node = el("section", { class: "panel", "aria-labelledby": "report-title" }, el("h2", { id: "report-title", class: "unseen" }, "Report"), this.#body);
  }

  // open looks again: qualities are measured after the video is ready.
  async open() {
    try {
      await this.#page.loadReport();
    } catch (error) {
      if (error.status !== 401) this.#body.replaceChildren(problemBox(error, button("Try again", () => this.open())));
    }
  }

  show(video, report) {
    const key = JSON.stringify(report);
    if (!report || key === this.#shown) return; // what was unfolded stays
    this.#shown = key;
    this.#body.replaceChildren(readable(report, video));
  }
}

// readable returns the report in readable form, followed by its JSON.
function readable(report, video) {
  return el("div", { class: "report" },
    Object.keys(report.outputs).length > 0 && el("div", {}, el("h3", {}, "Bit rate and quality"), renditions(report.outputs, (name) => video.resolutions[name]?.sameAs)),
    report.runs.length > 0 && el("div", {}, el("h3", {}, "Time line"), timeline(report.runs)),
    report.found ? found(report.found) : el("p", {}, "The file has not been inspected yet."),
    report.decisions?.length > 0 && el("div", {}, el("h3", {}, "Decisions"),
      el("ul", { class: "decisions" }, report.decisions.map((d) => el("li", {}, el("strong", {}, d.decision), " ", d.reason)))),
    Object.keys(report.outputs).length > 0 && outputs(report.outputs, report.found?.sizeBytes),
    cost(report.totals),
    report.runs.length > 0 && runs(report.runs),
    el("details", {}, el("summary", {}, "As JSON"), el("pre", { tabindex: 0, role: "region", "aria-label": "The report as JSON" }, JSON.stringify(report, null, 2))));
}

function found(f) {
  const v = f.video;
  const rotated = v.rotation ? `, rotated by ${v.rotation}°` : "";
  const colours = [v.primaries, v.transfer, v.matrix].filter(Boolean);
  return el("div", {}, el("h3", {}, "Source file"), facts([
    ["Container", f.container.split(",").slice(0, 2).join(" or ")],
    ["Size", bytes(f.sizeBytes)],
    ["Duration", duration(f.durationSeconds)],
    ["Frames", f.frames],
    ["Video", `${v.codec}, ${size(v.width, v.height)}${rotated}`],
    ["Coded size", v.codedWidth !== v.width || v.codedHeight !== v.height ? size(v.codedWidth, v.codedHeight) : ""],
    ["Frame rate", v.frameRate ? `${+v.frameRate.toFixed(3)} fps` : ""],
    ["Pixel format", v.pixelFormat],
    ["Bit rate", bitrate(v.bitrate)],
    ["Colours", [...new Set(colours)].join(", ")],
    ["Audio", f.audio ? `${f.audio.codec}, ${plural(f.audio.channels, "channel")}` : "none"],
  ]));
}

function outputs(all, sourceBytes) {
  const codecs = [...new Set(Object.values(all).flatMap((o) => (o.variants ?? []).map((v) => v.codec)))];
  const rows = Object.entries(all).map(([name, o]) => [
    name, size(o.width, o.height), bytes(o.sizeBytes), ...codecs.map((codec) => inCodec(o, codec)), bitrate(o.bitrate),
    o.ssim === undefined ? "–" : o.ssim.toFixed(4), o.psnr === undefined ? "–" : `${o.psnr.toFixed(1)} dB`,
  ]);
  return el("div", {}, el("h3", {}, "Outputs"),
    table(["Resolution", "Pixels", codecs.length > 0 ? "Size in H.264" : "Size", ...codecs.map((codec) => `Size in ${codecNames[codec] ?? codec}`), "Bit rate", "SSIM", "PSNR"], rows),
    codecs.map((codec) => saved(all, codec)),
    grown(all, sourceBytes),
    el("p", { class: "fine" }, "SSIM (1 is identical) and PSNR compare sampled frames with the source; they are measured after the video is ready."));
}

// inCodec says what became of an output in another codec.
function inCodec(o, codec) {
  const v = o.variants?.find((variant) => variant.codec === codec);
  if (v?.status === "ready") return `${bytes(v.sizeBytes)}, ${compared(v.sizeBytes, o.sizeBytes)}`;
  return { fail: "failed", processing: "not made yet" }[v?.status] ?? "–";
}

// saved says what a codec saves against H.264, in all files that it was made of.
function saved(all, codec) {
  const made = Object.values(all).flatMap((o) => (o.variants ?? []).filter((v) => v.codec === codec && v.status === "ready").map((v) => [o.sizeBytes, v.sizeBytes]));
  const [before, after] = [0, 1].map((i) => made.reduce((sum, pair) => sum + pair[i], 0));
  const name = codecNames[codec] ?? codec;
  if (made.length === 0) return el("p", {}, `No resolution exists in ${name} yet.`);
  return el("p", { class: "saved" }, after < before ? `${name} saves ${bytes(before - after)} of the ${bytes(before)} in H.264: ${compared(after, before)}.`
    : `${name} saves nothing: ${bytes(after)} against ${bytes(before)} in H.264.`);
}

// grown explains files that are larger than the one that was uploaded.
function grown(all, sourceBytes) {
  const larger = Object.entries(all).filter(([, o]) => o.sizeBytes > sourceBytes).map(([name]) => name);
  if (larger.length === 0) return null;
  return el("p", {}, `Larger than the uploaded file (${bytes(sourceBytes)}): ${larger.join(", ")}. The file was compressed more tightly than H.264 that plays everywhere can be at this quality; smaller resolutions take less.`);
}

function cost(t) {
  return el("div", {}, el("h3", {}, "Cost"), facts([
    ["From upload to ready", elapsed(t.totalSeconds)],
    ["Waited in the queue", elapsed(t.queueSeconds)],
    ["CPU time", elapsed(t.cpuSeconds)],
    ["Programs run", t.runs],
    ...(t.codecs ?? []).map((c) => [`CPU time of ${codecNames[c.codec] ?? c.codec}`, elapsed(c.cpuSeconds)]),
  ]));
}

function runs(all) {
  const list = all.map((run) => el("li", {},
    el("details", {},
      el("summary", {}, `${run.task} ${run.number}`, run.attempt > 1 && `, try ${run.attempt}`, `: ${run.program}, ${elapsed(run.wallSeconds)}`,
        run.maxMemoryBytes ? `, ${bytes(run.maxMemoryBytes)} of memory` : "", run.result === "ok" ? "" : el("strong", { class: "failure" }, ` ${run.result}`)),
      el("pre", { tabindex: 0, role: "region", "aria-label": `Arguments of ${run.task} ${run.number}` }, [run.program, ...run.arguments].join(" ")))));
  return el("details", {}, el("summary", {}, `Programs that were run (${all.length})`), el("ol", { class: "runs" }, list));
}

function table(heads, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Outputs" }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, first), rest.map((cell) => el("td", {}, cell)))))));
}
