// Plots of an audience, as SVG: the policy of the page allows no inline styles, which plotting libraries write. The same
// numbers are in a table behind each plot, for screen readers and for those who want them exactly.

import { el, svg } from "./dom.js";

const high = 100; // of a plot, in its own units

// columns shows a column for each moment. moments are {at, value}; write turns a value into words, when a time.
export function columns({ title, moments, write, when, total }) {
  const most = Math.max(...moments.map(({ value }) => value), 0);
  const bars = moments.map(({ at, value }, i) => svg("g", {},
    svg("rect", { class: "under", x: i, y: 0, width: 1, height: high }),
    svg("rect", { class: "fill", x: i + 0.12, y: high - tall(value, most), width: 0.76, height: tall(value, most) }),
    svg("title", {}, `${when(at)}: ${write(value)}`)));
  const marks = [0, Math.floor((moments.length - 1) / 2), moments.length - 1].map((i) => when(moments[i].at));
  return figure(title, `${title}: ${total}. The most at once was ${write(most)}.`,
    el("div", { class: "plot" },
      el("span", { class: "most" }, most > 0 ? write(most) : ""),
      svg("svg", { role: "img", "aria-label": `${title}: ${total}`, viewBox: `0 0 ${moments.length} ${high}`, preserveAspectRatio: "none" }, bars),
      el("div", { class: "marks" }, marks.map((mark) => el("span", {}, mark)))),
    total, ["Time", title], moments.map(({ at, value }) => [when(at), write(value)]));
}

// tall is how high a value is drawn. One that is not zero can be seen.
function tall(value, most) {
  return value > 0 ? Math.max(1, high * value / most) : 0;
}

// curve shows a share along a film. parts are {from, to, share}; clock writes a time of the film; below is shown under it.
export function curve({ title, parts, clock, below, words }) {
  const x = (i) => 100 * i / parts.length, y = (share) => high * (1 - share);
  const steps = parts.map(({ share }, i) => `L${x(i)} ${y(share)}L${x(i + 1)} ${y(share)}`).join("");
  const hints = parts.map(({ from, share }, i) => svg("rect", { class: "under", x: x(i), y: 0, width: 100 / parts.length, height: high }, svg("title", {}, `${clock(from)}: ${shareOf(share)}`)));
  return figure(title, words,
    el("div", { class: "plot" },
      el("span", { class: "most" }, "100 %"),
      svg("svg", { role: "img", "aria-label": words, viewBox: `0 0 100 ${high}`, preserveAspectRatio: "none" },
        svg("path", { class: "area", d: `M0 ${high}${steps}L100 ${high}Z` }), hints),
      below,
      el("div", { class: "marks" }, [parts[0].from, parts[Math.floor(parts.length / 2)].from, parts.at(-1).to].map((at) => el("span", {}, clock(at))))),
    words, ["Part", "Share of views"], parts.map(({ from, to, share }) => [`${clock(from)} to ${clock(to)}`, shareOf(share)]));
}

export function shareOf(share) { return `${Math.round(100 * share)} %`; }

// ranking shows a list of names with bars: {name, value, words}, the largest first.
export function ranking(title, lines) {
  if (lines.length === 0) return null;
  const most = Math.max(...lines.map(({ value }) => value), 1), id = `list-${title.toLowerCase().replaceAll(" ", "-")}`;
  return el("section", { class: "ranking", "aria-labelledby": id }, el("h2", { id }, title), el("ul", {}, lines.map(({ name, value, words }) => el("li", {},
    el("span", { class: "line" }, el("span", { class: "of" }, name), el("span", { class: "fine" }, words)),
    svg("svg", { "aria-hidden": "true", width: "100%", height: 6 },
      svg("rect", { class: "track", width: "100%", height: 6, rx: 3 }),
      svg("rect", { class: "fill", width: `${(100 * value / most).toFixed(1)}%`, height: 6, rx: 3 }))))));
}

// figure is a plot with its table behind it.
function figure(title, words, picture, caption, heads, rows) {
  return el("figure", { class: "audience-plot" }, el("h2", {}, title), picture,
    el("figcaption", {}, el("span", {}, caption),
      el("details", {}, el("summary", { "aria-label": `${title} as a table` }, "As a table"),
        el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${title} as a table` },
          el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
            el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, first), rest.map((cell) => el("td", {}, cell))))))))));
}
