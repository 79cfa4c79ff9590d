// The look of the uploader. Every value is a custom property --spool-…; what a page does not set is as in Spool's console, light
// or dark as the page says by color-scheme.

// @ts-expect-error build.mjs makes it of the tokens of the console
import tokens from "tokens";

interface Tokens { light: Record<string, string>; dark: Record<string, string> }

const { light, dark }: Tokens = tokens;
const defaults = Object.keys(light).map((name) => `--${name}: var(--spool-${name}, light-dark(${light[name]}, ${dark[name]}));`).join(" ");

export const css = `
:host {
  ${defaults}
  display: block; color: var(--text); font: var(--spool-font, 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.zone {
  display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: 8px 12px; padding: 28px 16px; text-align: center;
  background: var(--panel); border: 1.5px dashed var(--field); border-radius: var(--spool-round, 12px); color: var(--soft); transition: background 140ms, border-color 140ms;
}
.zone.over { border-color: var(--accent); background: var(--sunken); }
button {
  min-height: 36px; padding: 6px 14px; font: inherit; font-weight: 600; cursor: pointer; color: var(--text);
  background: transparent; border: 1px solid var(--line); border-radius: var(--spool-button-round, 8px);
}
button:hover { border-color: var(--field); }
button.main { color: var(--on-ink); background: var(--ink); border-color: var(--ink); }
button:disabled { opacity: 0.55; cursor: default; }
button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
ul { list-style: none; margin: 12px 0 0; padding: 0; display: grid; gap: 8px; }
ul:empty { display: none; }
li { display: grid; gap: 6px; padding: 12px 14px; background: var(--panel); border: 1px solid var(--line); border-radius: var(--spool-round, 12px); }
.line { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; }
.what { flex: 1 1 12em; min-width: 0; display: grid; }
.name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.state { color: var(--soft); font-size: 0.9em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.done .state { color: var(--good); }
.failed .state { color: var(--bad); }
.actions { display: flex; gap: 6px; }
.bar { height: 4px; border-radius: 4px; background: var(--line); overflow: hidden; }
.bar > div { height: 100%; width: 100%; transform-origin: left; background: var(--accent); transition: transform 300ms linear; }
:dir(rtl) .bar > div { transform-origin: right; }
.paused .bar > div { background: var(--field); }
@media (prefers-reduced-motion: reduce) { .zone, .bar > div { transition: none; } }
@media (forced-colors: active) { .bar > div { background: Highlight; forced-color-adjust: none; } }
`;
