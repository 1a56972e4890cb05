/**
 * The panel's look. A host page changes it through the custom properties that are read in `:host`, through
 * ::part(), and through its own `color-scheme`, which the panel follows; `scheme="light"` or `scheme="dark"` on the
 * panel decides it for the panel alone.
 */
export const sheet = new CSSStyleSheet();

/** In light and in dark. */
const COLOURS = {
  paper: ["#fffefc", "#1c1b19"],
  ink: ["#201e1b", "#ece8e1"],
  muted: ["#635e56", "#aaa399"],
  line: ["#e8e3da", "#34312d"],
  edge: ["#8c867b", "#78726a"],
  accent: ["#1f5d4f", "#8ad0ba"],
  "on-accent": ["#ffffff", "#10251f"],
  agent: ["#6542a8", "#c2aef6"],
  trouble: ["#9a3412", "#f5b08a"],
};

/** @param {(pair: string[]) => string} choose */
const host = (choose) =>
  Object.entries(COLOURS).map(([name, pair]) => `--_${name}: var(--preferences-${name}, ${choose(pair)});`).join("");
const [light, dark] = [0, 1].map((at) => host((pair) => pair[at]));

// Browsers from before 2024 can't ask for the color-scheme that an element has: they go by the attribute, or the system's
const colours = CSS.supports("color", "light-dark(red, red)")
  ? `:host { ${host((pair) => `light-dark(${pair})`)} }`
  : `:host { ${light} } @media (prefers-color-scheme: dark) { :host { ${dark} } }
     :host([scheme="light"]) { ${light} } :host([scheme="dark"]) { ${dark} }`;

sheet.replaceSync(`
:host {
  --_radius: var(--preferences-radius, 10px);
  --_wash: color-mix(in oklab, var(--_accent) 8%, var(--_paper));
  --_hover: color-mix(in oklab, var(--_ink) 7%, transparent);
  display: block;
  container: preferences / inline-size;
  color: var(--_ink);
  font: 400 medium/1.45 var(--preferences-font, Inter, "Segoe UI", system-ui, -apple-system, Roboto, "Helvetica Neue", Arial, sans-serif);
  font-variant-numeric: tabular-nums;
  text-align: start;
}
:host([scheme="light"]) { color-scheme: light; }
:host([scheme="dark"]) { color-scheme: dark; }
:host([hidden]), [hidden] { display: none !important; }
*, *::before, *::after { box-sizing: border-box; }
h2, h3, p, ol, ul, blockquote, fieldset { margin: 0; padding: 0; border: 0; min-inline-size: 0; }
ol, ul { list-style: none; }
button, input, textarea { font: inherit; color: inherit; letter-spacing: inherit; }
button { cursor: pointer; background: none; border: 0; border-radius: 7px; padding: 0; }
button[aria-disabled="true"] { cursor: default; opacity: .45; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { inline-size: 16px; block-size: 16px; display: block; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
:is(.icon-grip, .icon-more) { stroke-width: 2.2; }

/* -- frame -- */
/* Text is sized in em from the reader's own size, whatever the host's root makes of rem; boxes in px */
.panel { font-size: .9375em; background: var(--_paper); border: 1px solid var(--_line); border-radius: calc(var(--_radius) + 4px); padding: 18px 20px 20px; }
.head { position: relative; display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: center; }
h2 { flex: 1 1 auto; font-size: 1.2em; line-height: 1.3; font-weight: 650; letter-spacing: -.012em; }
.count { flex-basis: 100%; color: var(--_muted); font-size: .8125em; min-block-size: 1.45em; }
.news { color: var(--_agent); margin-inline-start: 10px; }
.tabs { display: flex; gap: 2px; padding: 2px; border-radius: 9px; background: var(--_hover); }
.tab { padding: 3px 12px; font-size: .8125em; line-height: 1.5; color: var(--_muted); }
.tab[aria-selected="true"] { background: var(--_paper); color: var(--_ink); font-weight: 600; box-shadow: 0 0 0 1px var(--_line); }
.choice { display: inline-flex; align-items: center; gap: 8px; cursor: pointer; padding-block: 4px; }
.choice input { accent-color: var(--_accent); inline-size: 16px; block-size: 16px; margin: 0; }
.menu { position: absolute; z-index: 2; inset-inline-end: 0; inset-block-start: 34px; display: grid; justify-items: stretch; min-inline-size: 13em; padding: 6px; border: 1px solid var(--_line); border-radius: 10px; background: var(--_paper); box-shadow: 0 6px 24px #0003; }
.menu .choice { padding: 4px 8px; font-size: .8125em; }
.menu .plain { color: inherit; font-weight: 400; text-align: start; }
.menu-place > .tool { margin-inline-end: -8px; }
.empty { color: var(--_muted); padding-block: 18px; max-inline-size: 46ch; text-wrap: pretty; }

/* -- buttons -- */
.plain { display: inline-flex; align-items: center; gap: 6px; padding: 4px 8px; font-size: .8125em; font-weight: 550; line-height: 1.4; color: var(--_accent); }
.solid { padding: 6px 16px; font-size: .875em; font-weight: 600; background: var(--_accent); color: var(--_on-accent); border-radius: 8px; }
.tool { display: grid; place-items: center; inline-size: 32px; block-size: 32px; color: var(--_muted); }
@media (hover: hover) {
  .plain:not([aria-disabled="true"]):hover, .tool:not([aria-disabled="true"]):hover, .tab:hover { background: var(--_hover); color: var(--_ink); }
  .tab[aria-selected="true"]:hover { background: var(--_paper); }
  .solid:not([aria-disabled="true"]):hover { background: color-mix(in oklab, var(--_accent) 88%, var(--_ink)); }
}

/* -- rows -- */
.section { margin-block-start: 14px; }
h3 { display: flex; align-items: center; gap: 7px; font-size: .8125em; font-weight: 650; padding-block-end: 6px; }
.rows { border-block-start: 1px solid var(--_line); margin-inline: -12px; }
.row, .gone { position: relative; border-block-end: 1px solid var(--_line); padding-inline: 12px; }
.row[data-locked][data-face="reading"] { background: var(--_wash); }
.reading {
  display: grid; align-items: start; column-gap: 6px; padding-block: 4px;
  grid-template: "grip number words actions" auto ". . detail actions" auto ". . moves moves" auto ". . message message" auto / 20px 22px 1fr auto;
}
.number { grid-area: number; padding-block-start: 9px; font-size: .75em; line-height: 1.4; color: var(--_muted); }
.mark-hard { background: var(--_ink); }
.grip { grid-area: grip; display: grid; place-items: center; inline-size: 24px; block-size: 32px; margin-inline-start: -4px; color: var(--_muted); cursor: grab; touch-action: none; opacity: .6; }
.row:hover .grip, .grip:focus-visible, .grip[aria-expanded="true"] { opacity: 1; }
.words { grid-area: words; min-inline-size: 0; display: flex; flex-wrap: wrap; align-items: baseline; column-gap: 10px; padding-block: 5px 2px; }
.title { font-weight: 550; overflow-wrap: anywhere; text-wrap: pretty; }
.reading > .subtitle { grid-area: detail; margin-block: -2px 4px; }
.subtitle { color: var(--_muted); font-size: .875em; overflow-wrap: anywhere; text-wrap: pretty; }
/* Text runs its own way, and still begins where the page's lines begin */
.count, .empty, .trouble, .message-body span, .strip p, .origin { unicode-bidi: plaintext; }
.count, .empty, .trouble, .strip p, [dir="auto"]:not(.field) { text-align: -webkit-match-parent; text-align: match-parent; }
.meta { display: flex; flex-wrap: wrap; gap: 0 10px; color: var(--_muted); font-size: .75em; line-height: 1.6; }
.fresh { color: var(--_agent); font-weight: 650; }
.fresh::before { content: "●"; content: "●" / ""; font-size: .6em; vertical-align: .2em; margin-inline-end: 5px; }
.lock-word { color: var(--_accent); font-weight: 650; }
.actions { grid-area: actions; display: flex; gap: 2px; margin-inline-end: -6px; }
.lock .icon-locked { display: none; }
.lock[aria-pressed="true"] { color: var(--_on-accent); background: var(--_accent); }
.lock[aria-pressed="true"]:not([aria-disabled="true"]):hover { color: var(--_on-accent); background: color-mix(in oklab, var(--_accent) 85%, var(--_ink)); }
.lock[aria-pressed="true"] .icon-locked { display: block; fill: color-mix(in oklab, currentColor 25%, transparent); }
.lock[aria-pressed="true"] .icon-unlocked { display: none; }
.row[data-pending] .lock[aria-pressed="true"] { background: none; color: var(--_accent); box-shadow: inset 0 0 0 1.5px var(--_accent); }
.row[data-pending] .title, .row[data-unsaved] .number { opacity: .7; }
.row[data-unsaved] :is(.actions, .grip) { visibility: hidden; }
.moves { grid-area: moves; display: flex; flex-wrap: wrap; gap: 4px; margin-block-start: 4px; margin-inline-start: -8px; }
.reading > .message { grid-area: message; }
.row[data-filtered] { display: none; }
.row[data-dragged] { opacity: .5; }
.row[data-dragged] .grip { cursor: grabbing; }
.row[data-drop]::after { content: ""; position: absolute; inset-inline: 12px; block-size: 3px; border-radius: 2px; background: var(--_accent); }
.row[data-drop="before"]::after { inset-block-start: -2px; }
.row[data-drop="after"]::after { inset-block-end: -2px; }

/* -- removed, and trouble -- */
.strip { display: grid; grid-template-columns: 1fr auto auto; align-items: center; gap: 4px; color: var(--_muted); font-size: .875em; }
.strip .others { padding: 0 4px; text-decoration: underline; text-underline-offset: 3px; }
.strip bdi { overflow-wrap: anywhere; color: var(--_ink); }
.strip .tool { margin-inline-end: -6px; }
.strip .message { grid-column: 1 / -1; }

/* -- what the agent changed or removed -- */
.row:not([data-face="reading"]) > .change { display: none; }
.change { display: grid; grid-template-columns: 1fr auto auto; align-items: center; gap: 2px 4px; margin-block: 6px; padding-block: 2px 6px; padding-inline-start: 12px; border-inline-start: 3px solid var(--_agent); border-radius: 4px; background: var(--_wash); color: var(--_muted); font-size: .875em; overflow-wrap: anywhere; }
.change bdi { color: var(--_ink); }
.change .others { padding: 0 4px; text-decoration: underline; text-underline-offset: 3px; }
.change > :is(.changes, .reason, .message) { grid-column: 1 / -1; margin-inline-start: 0; padding-inline-end: 12px; }
.change > .changes { padding-inline-start: 0; font-size: .93em; }
.change > .reason { font-size: .93em; }
.changes ins::before { content: "→ "; content: "→ " / ""; }
.away { position: sticky; z-index: 2; inset-block-start: 0; display: flex; align-items: center; gap: 8px; margin-block: 8px; padding-inline-start: 12px; border: 1px solid var(--_agent); border-radius: 8px; background: var(--_paper); font-size: .8125em; }
.away bdi { min-inline-size: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.away .plain { font-size: 1em; }
.panel[data-away] .row button { scroll-margin-block-start: 48px; }
.message-body, .trouble {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 6px; margin-block-start: 8px; padding: 6px 10px;
  border-inline-start: 3px solid var(--_trouble); border-radius: 3px 8px 8px 3px;
  background: color-mix(in oklab, var(--_trouble) 9%, var(--_paper)); font-size: .8125em; overflow-wrap: anywhere;
}
.message-body[data-tone="calm"] { border-color: var(--_edge); background: var(--_hover); }
:is(.message-body, .trouble) .plain { font-size: inherit; }
.strip :is(.plain, .message-body) { font-size: .93em; }
.message-body .plain, .trouble .plain { padding-block: 1px; color: inherit; text-decoration: underline; text-underline-offset: 3px; }

/* -- writing -- */
.composer { margin-block-start: 22px; }
.search { margin-block: 8px -4px; font-size: .875em; }
.counter { margin-block-start: -6px; color: var(--_muted); font-size: .75em; text-align: end; }
.panel[data-long] .composer { position: sticky; z-index: 1; inset-block-end: 0; margin-block: 10px -20px; margin-inline: -20px; padding: 10px 20px 14px; border-block-start: 1px solid var(--_line); border-radius: 0 0 13px 13px; background: var(--_paper); }
.panel[data-long] .row button { scroll-margin-block-end: 90px; }
.panel[data-long] .composer:not(:focus-within):has(input.field:placeholder-shown) :is(h3, textarea, .kinds) { display: none; }
.panel[data-long] .composer:not(:focus-within):has(input.field:placeholder-shown) .draft { grid-template-columns: minmax(0, 1fr) auto; }
.draft { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px; }
.field {
  inline-size: 100%; padding: 7px 10px; background: var(--_paper); border: 1px solid var(--_edge); border-radius: 8px;
  line-height: 1.4; resize: none; field-sizing: content; min-block-size: 36px; max-block-size: 12em;
}
.field::placeholder { color: var(--_muted); opacity: 1; }
.field:focus-visible { outline-offset: 0; border-color: var(--_accent); }
.field[aria-invalid] { border-color: var(--_trouble); }
.field:read-only { opacity: .65; }
textarea.field { font-size: .875em; }
.draft-foot { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 8px 16px; }
.draft-ways { display: flex; align-items: center; gap: 4px; margin-inline-start: auto; }
.kinds { display: flex; flex-wrap: wrap; gap: 2px 14px; }
.kind-option { display: inline-flex; align-items: center; gap: 7px; padding-block: 4px; font-size: .8125em; cursor: pointer; }
.kind-option input { accent-color: var(--_accent); margin: 0; inline-size: 16px; block-size: 16px; }
.mark { flex: none; inline-size: 10px; block-size: 10px; border: 1.5px solid var(--_ink); border-radius: 50%; }
.mark.mark-hard { border-radius: 3px; }
.writing { padding-block: 12px; }
.draft .message-body { margin-block-start: 0; }
.conflict { display: grid; justify-items: start; gap: 4px; margin-block-end: 8px; }
.conflict-lead { font-size: .8125em; color: var(--_muted); }
.theirs { justify-self: stretch; padding: 8px 12px; border-inline-start: 3px solid var(--_agent); background: color-mix(in oklab, var(--_agent) 7%, var(--_paper)); border-radius: 3px 8px 8px 3px; }
.conflict .plain { margin-inline-start: -8px; }

/* -- what the agent suggests -- */
.waiting { flex-basis: 100%; display: flex; flex-wrap: wrap; gap: 2px 10px; margin-inline: -8px; }
.row-suggestions:empty { display: none; }
.suggestion-group { display: grid; gap: 3px; padding: 10px 12px 6px; margin-block: 6px 4px; border-inline-start: 3px solid var(--_agent); border-radius: 4px; background: var(--_wash); overflow-wrap: anywhere; }
.suggestion-group:focus-visible { outline: 2px solid var(--_accent); outline-offset: 1px; }
.suggestion-lead { font-size: .8125em; color: var(--_agent); font-weight: 600; }
.suggestion .arrow { margin-inline-end: 4px; }
.suggestion ins, .suggestion[data-action="add"] .suggested { font-weight: 600; }
.suggestion .reason { margin-inline-start: 0; }
.suggestion .meta { grid-area: auto; margin: 0; }
.suggestion-ways { display: flex; flex-wrap: wrap; gap: 2px 6px; margin-inline-start: -8px; }
.suggestion .draft { margin-block: 6px; }

/* -- history -- */
.history { margin-block-start: 6px; }
.entry { display: grid; grid-template-columns: 1fr auto; gap: 3px 12px; align-items: start; padding-block: 12px; border-block-end: 1px solid var(--_line); }
.entry > * { grid-column: 1; min-inline-size: 0; overflow-wrap: anywhere; }
.entry > .undo { grid-column: 2; grid-row: 1 / span 3; margin-block-start: -2px; margin-inline-end: -8px; }
.entry > .message { grid-column: 1 / -1; }
.summary { text-wrap: pretty; }
.summary, .changes { padding-inline-start: 16px; position: relative; }
.summary::before { content: ""; position: absolute; inset-inline-start: 0; inset-block-start: .5em; inline-size: 7px; block-size: 7px; border-radius: 50%; border: 1.5px solid var(--_edge); }
.entry[data-actor="agent"] .summary::before { background: var(--_agent); border-color: var(--_agent); }
.entry .meta { grid-row: auto; margin: 0; padding-inline-start: 16px; }
.reason { color: var(--_muted); font-size: .875em; padding-inline-start: 12px; border-inline-start: 2px solid var(--_line); margin-block: 3px; margin-inline-start: 16px; }
.changes { font-size: .8125em; color: var(--_muted); }
.change-name::after { content: ":"; }
del { text-decoration-color: var(--_muted); margin-inline-end: 4px; }
ins { text-decoration: none; color: var(--_ink); }
.entry:last-child { border-block-end: 0; }
.more { margin-block-start: 10px; }

/* -- small, coarse, forced, still -- */
@container preferences (max-width: 430px) {
  .panel { padding: 14px 14px 16px; }
  .panel[data-long] .composer { margin-block-end: -16px; margin-inline: -14px; padding-inline: 14px; }
  .rows { margin-inline: -10px; }
  .row, .gone { padding-inline: 10px; }
  .reading { column-gap: 4px; grid-template: "grip number words actions" auto ". . detail detail" auto ". . moves moves" auto ". . message message" auto / 18px 18px 1fr auto; }
  .actions { gap: 0; }
  .reading > .subtitle { margin-block-start: 0; }
}
@container preferences (max-width: 330px) {
  .reading { grid-template: "grip number words" auto ". . detail" auto ". . actions" auto ". . moves" auto ". . message" auto / 18px 18px 1fr; }
  .actions { justify-self: end; }
}
@media (pointer: coarse) {
  .tool { inline-size: 40px; block-size: 40px; }
  .plain, .tab { padding-block: 8px; }
  .choice, .kind-option { padding-block: 8px; }
  .field, textarea.field { font-size: max(16px, 1em); } /* below this, phones zoom in on focus */
  .grip { opacity: 1; }
}
@media (forced-colors: active) {
  .tool, .solid, .tab[aria-selected="true"] { border: 1px solid ButtonText; }
  .lock[aria-pressed="true"] { forced-color-adjust: none; background: Highlight; color: HighlightText; }
  .row[data-drop]::after { background: Highlight; }
}
@media (prefers-reduced-motion: no-preference) {
  .tool, .plain, .solid, .tab, .row { transition: background-color .15s, color .15s, opacity .15s; }
  .fresh::before { animation: arrive 1.2s ease-out 2; }
  @keyframes arrive { from { opacity: 0; } }
}
${colours}
`);
