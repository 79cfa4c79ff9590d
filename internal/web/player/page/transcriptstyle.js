// The look of the transcript. It has the colours of the page.
export const css = `
:host { display: flex; flex-direction: column; min-height: 0; font: 0.95rem/1.45 Geist, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--text, #1c1a17); }
:host([hidden]), [hidden] { display: none !important; }
#body { display: flex; flex-direction: column; gap: 0.5rem; min-height: 0; flex: 1; padding: 0.75rem 0 0; }
button, input, select { font: inherit; color: inherit; background: var(--panel, #fff); border: 1px solid var(--line, #e6e2dc); border-radius: 8px; min-height: 2.5rem; padding: 0.3rem 0.75rem; min-width: 0; }
button { cursor: pointer; }
button:hover { border-color: var(--accent, #b0470b); }
button:disabled { opacity: 0.5; cursor: default; }
:focus-visible { outline: 2px solid var(--accent, #b0470b); outline-offset: 2px; }
.toggle { align-self: flex-start; font-weight: 600; border-radius: 999px; padding: 0.4rem 1.1rem; }
.toggle::after { content: "▾"; margin-left: 0.5rem; }
.toggle[aria-expanded="true"]::after { content: "▴"; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem; }
.tools > input { flex: 1 1 9rem; }
.tools > button { padding: 0.3rem 0.8rem; }
.tools > select { flex: 1 1 100%; }
.count:not(:empty) { min-width: 4.5rem; text-align: center; }
.count, .time, .note { color: var(--soft, #625c53); font-size: 0.85rem; font-variant-numeric: tabular-nums; }
.note { margin: 0; padding: 0.5rem; }
ol { list-style: none; margin: 0; padding: 3px; overflow-y: auto; overscroll-behavior: contain; min-height: 0; flex: 1 1 auto; max-height: var(--spool-transcript-height, 24rem); border: 1px solid var(--line, #e6e2dc); border-radius: 12px; background: var(--panel, #fff); }
li { content-visibility: auto; contain-intrinsic-height: auto 2.4rem; }
li > button { display: grid; grid-template-columns: 4.2rem minmax(0, 1fr); gap: 0.25rem; width: 100%; text-align: start; border: 0; border-left: 3px solid transparent; border-radius: 6px; background: none; padding: 0.4rem 0.5rem; min-height: 2.4rem; }
li > button:focus-visible { outline-offset: -3px; }
li > button:hover { background: var(--ground, #faf9f7); }
li > button[aria-current] { border-left-color: var(--accent, #b0470b); background: var(--ground, #faf9f7); font-weight: 600; }
li > .found .words { text-decoration: underline; text-decoration-thickness: 2px; text-decoration-color: var(--accent, #b0470b); text-underline-offset: 3px; }
li > .chosen { background: color-mix(in srgb, var(--accent, #b0470b) 18%, transparent); }
.words { overflow-wrap: anywhere; }
@media (pointer: coarse) { li > button { padding-block: 0.6rem; } }
@media print { .toggle, .tools { display: none; } ol { max-height: none; overflow: visible; } }
`;
