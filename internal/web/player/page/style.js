// The look of the player. It is the same in light and dark pages: controls are over the picture.
export const css = `
:host {
  display: block; position: relative; width: 100%; aspect-ratio: 16 / 9; background: #000; color: #fff;
  font: 14px/1.4 Geist, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow: hidden;
  --accent: var(--spool-accent, #ff8a3d);
}
:host([hidden]), [hidden] { display: none !important; }
media-controller {
  display: block; width: 100%; height: 100%; background: #000;
  --media-primary-color: #fff; --media-text-color: #fff; --media-icon-color: #fff;
  --media-control-background: transparent; --media-control-hover-background: rgb(255 255 255 / 16%);
  --media-control-height: 22px; --media-control-padding: 9px; --media-button-icon-height: 22px;
  --media-font: 500 13px/1.4 Geist, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --media-font-family: Geist, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; --media-font-size: 13px;
  --media-range-bar-color: var(--accent); --media-range-track-background: rgb(255 255 255 / 28%);
  --media-time-range-buffered-color: rgb(255 255 255 / 42%);
  --media-range-track-height: 4px; --media-range-track-border-radius: 4px;
  --media-range-segments-gap: 3px; --media-range-segment-hover-transform: scaleY(1.5);
  --media-range-thumb-background: #fff; --media-range-thumb-width: 13px; --media-range-thumb-height: 13px;
  --media-focus-box-shadow: inset 0 0 0 2px #fff;
  --media-tooltip-background: rgb(24 22 19 / 92%); --media-tooltip-border-radius: 6px; --media-tooltip-padding: 5px 9px;
  --media-preview-background: rgb(24 22 19 / 92%); --media-preview-border-radius: 6px;
  --media-preview-thumbnail-border: 2px solid #fff; --media-preview-thumbnail-border-radius: 8px;
  --media-preview-time-text-shadow: none;
  --media-menu-background: rgb(27 25 23 / 96%); --media-settings-menu-background: rgb(27 25 23 / 96%);
  --media-menu-border-radius: 10px; --media-settings-menu-min-width: 190px;
  --media-menu-item-hover-background: rgb(255 255 255 / 12%);
  --media-menu-item-checked-background: transparent;
  --media-secondary-color: rgb(27 25 23 / 96%);
  --media-loading-indicator-icon-height: 64px;
}
video { width: 100%; height: 100%; object-fit: contain; }
video::cue { background: rgb(0 0 0 / 72%); color: #fff; font-family: system-ui, sans-serif; font-weight: 500; line-height: 1.35; }
video::-webkit-media-text-track-container { transition: transform 0.2s; }
media-controller:is(:not([userinactive]), [mediapaused]) video::-webkit-media-text-track-container { transform: translateY(-72px); }
media-poster-image { width: 100%; height: 100%; }

.bare > :is(.controls, .centre media-play-button, media-settings-menu, media-chrome-menu), .bare .big { display: none; }
.controls {
  width: 100%; padding-top: 56px; pointer-events: none;
  background: linear-gradient(to top, rgb(0 0 0 / 82%), rgb(0 0 0 / 50%) 45%, transparent);
}
.controls > * { pointer-events: auto; display: flex; }
.line { padding: 0 14px; width: 100%; box-sizing: border-box; }
media-time-range { flex: 1; height: 24px; --media-range-padding: 0; }
media-time-range, media-volume-range { --media-control-hover-background: transparent; }
media-time-range:hover { --media-range-track-height: 6px; }
media-preview-thumbnail { max-width: 200px; }
.bar { padding: 0 8px 6px; width: 100%; box-sizing: border-box; align-items: center; }
.bar > * { border-radius: 8px; }
.gap { flex: 1; }
.silent :is(media-mute-button, media-volume-range) { display: none; }
.title { width: 100%; box-sizing: border-box; padding-right: var(--spool-title-end, 0); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 16px; font-weight: 600; line-height: 1.4; text-shadow: 0 1px 4px rgb(0 0 0 / 85%); }
.bare .title { display: none; }
media-volume-range { width: 76px; height: 40px; }
.chapter { min-width: 0; flex: 0 1 auto; border-radius: 8px; }
.chapter .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chapter .name::before { content: "›"; margin-right: 7px; opacity: 0.75; }
media-preview-chapter-display { max-width: 240px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; --media-text-content-height: 20px; }
media-time-display { padding: 0 8px; font-variant-numeric: tabular-nums; }
media-captions-button[mediasubtitlesshowing] { --media-icon-color: var(--accent); }
media-captions-button:not([mediasubtitleslist]), media-pip-button[mediapipunavailable], media-fullscreen-button[mediafullscreenunavailable], media-volume-range[mediavolumeunavailable],
media-settings-menu-item:has(> media-captions-menu:not([mediasubtitleslist])), media-settings-menu-item:has(> [mediarenditionunavailable]) { display: none; }

media-settings-menu {
  right: 12px; bottom: 78px; border-radius: 12px; padding: 0; border: 1px solid rgb(255 255 255 / 14%); z-index: 1;
  box-shadow: 0 8px 28px rgb(0 0 0 / 45%); --media-menu-item-icon-height: 18px; --media-menu-item-indicator-height: 18px;
}
#chapters {
  position: absolute; left: 12px; bottom: 78px; width: 340px; max-width: calc(100% - 24px); max-height: min(320px, calc(100% - 96px)); border-radius: 12px;
  border: 1px solid rgb(255 255 255 / 14%); z-index: 1; box-shadow: 0 8px 28px rgb(0 0 0 / 45%); --media-menu-item-icon-height: 18px; --media-menu-item-indicator-height: 18px;
}
#chapters media-chrome-menu-item { min-height: 36px; box-sizing: border-box; white-space: normal; }
#chapters .time { padding-left: 14px; opacity: 0.75; font-variant-numeric: tabular-nums; }
media-settings-menu-item { min-height: 40px; box-sizing: border-box; }

.centre { position: absolute; inset: 0; display: grid; place-items: center; pointer-events: none; }
.centre > * { grid-area: 1 / 1; }
.centre .big { pointer-events: auto; }
media-loading-indicator[medialoading]:not([mediapaused]) svg { animation: turn 1s linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
.big {
  width: 76px; height: 76px; padding: 0; border-radius: 50%; --media-button-icon-height: 40px;
  --media-control-background: rgb(24 22 19 / 62%); --media-control-hover-background: var(--accent);
  transition: transform 0.15s, opacity 0.2s; backdrop-filter: blur(6px);
}
.big:hover { transform: scale(1.06); }
media-controller[mediahasplayed] .big, media-controller:not([mediapaused]) .big { display: none; }

.top { display: flex; flex-wrap: wrap; gap: 8px; padding: 12px; box-sizing: border-box; width: 100%; pointer-events: none; }
.live { display: contents; }
.note, .resumed {
  display: inline-flex; align-items: center; gap: 8px; padding: 5px 12px; border-radius: 999px;
  background: rgb(24 22 19 / 78%); font-size: 13px; font-weight: 500; backdrop-filter: blur(6px); pointer-events: auto;
}
.note::before { content: ""; width: 8px; height: 8px; border-radius: 50%; background: #ffb648; animation: pulse 1.6s ease-in-out infinite; }
@keyframes pulse { 50% { opacity: 0.3; } }
.resumed { padding: 3px 4px 3px 12px; }
button {
  font: 600 13px/1.4 system-ui, sans-serif; color: #1c1a17; background: #fff; border: 0; border-radius: 999px; padding: 4px 12px; cursor: pointer;
}
button:hover { background: #f3f1ed; }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.problem {
  position: absolute; inset: 0; display: grid; place-content: center; justify-items: center; gap: 14px; padding: 20px;
  text-align: center; font-size: 16px; background: rgb(12 14 19 / 97%);
}
.problem p { margin: 0; max-width: 30em; }
.problem button { padding: 8px 18px; font-size: 14px; }

.keys {
  width: min(30rem, calc(100vw - 16px)); max-height: calc(100dvh - 16px); box-sizing: border-box; padding: 20px 24px; overflow: auto;
  color: #fff; background: #1b1917; border: 1px solid rgb(255 255 255 / 20%); border-radius: 14px; box-shadow: 0 8px 28px rgb(0 0 0 / 45%);
  font: 15px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
.keys::backdrop { background: rgb(8 10 14 / 60%); }
.keys .head { display: flex; justify-content: space-between; align-items: center; gap: 12px; margin-bottom: 12px; }
.keys h2 { margin: 0; font-size: 17px; }
.keys dl { display: grid; grid-template-columns: auto 1fr; gap: 7px 18px; margin: 0; align-items: center; }
.keys dt { display: flex; gap: 5px; align-items: center; } .keys dd { margin: 0; }
kbd { min-width: 1.1em; padding: 1px 7px; text-align: center; font: 600 13px/1.5 ui-monospace, Consolas, monospace; background: #33302b; border: 1px solid #57514a; border-radius: 6px; }

media-controller:not([breakpointmd]) media-volume-range { display: none; }
media-controller:not([breakpointmd]) media-settings-menu { right: 6px; bottom: 48px; }
media-controller:not([breakpointmd]) #chapters { left: 6px; bottom: 48px; }
media-controller:not([breakpointsm]) :is(media-pip-button, media-seek-backward-button, media-seek-forward-button) { display: none; }
media-controller:not([breakpointsm]) .big { width: 60px; height: 60px; --media-button-icon-height: 32px; }
@media (pointer: coarse) {
  media-volume-range { display: none; }
  media-time-range { height: 32px; }
  media-controller { --media-range-thumb-width: 16px; --media-range-thumb-height: 16px; }
}
@media (prefers-reduced-motion: reduce) { .note::before { animation: none; } .big { transition: none; } }
`;
