// What the page of a video consists of: the one place that names its tabs and their panels.
//
// A panel is a class. It is made with the page (video.js), which has the player and asks the server for changes. It
// has a node, and show(video, report), which is called whenever the video was loaded or an event told of a change, so
// it leaves alone what stays the same. The report is null until it is known. A panel without anything to say hides its node.
// open, if a panel has it, is called when its tab is selected.

import { Access } from "./access.js";
import { Audience } from "./audience.js";
import { Captions } from "./captions.js";
import { Chapters } from "./chapters.js";
import { ClipForm } from "./clip.js";
import { Metadata } from "./details.js";
import { Resolutions, Stills } from "./files.js";
import { Links } from "./links.js";
import { Organising } from "./organise.js";
import { Original } from "./original.js";
import { Facts, Making, Removal } from "./overview.js";
import { Poster } from "./poster.js";
import { Replace } from "./replace.js";
import { Report } from "./report.js";
import { Addresses, WatchLink } from "./share.js";
import { Sound } from "./sound.js";

const rooms = [
  ["Overview", Making, Facts, Organising, ClipForm, Poster, Metadata, Removal],
  ["Share", WatchLink, Links, Addresses, Access],
  ["Text", Captions, Chapters],
  ["Sound", Sound],
  ["Files", Replace, Resolutions, Stills, Original],
  ["Audience", Audience],
  ["Report", Report],
];

// tabsOf makes the panels of a page.
export function tabsOf(page) {
  return rooms.map(([title, ...panels]) => ({ name: title.toLowerCase(), title, panels: panels.map((Panel) => new Panel(page)) }));
}
