/** What concerns the whole list, behind one button: locks, and a copy of the list to take away. */
import { h, set, icon } from "./dom.js";
import { t } from "./preferences-texts.js";

/** @typedef {import("./preferences-client.js").Row} Row */

const LOCK_EDITS = "preferences-panel.lock-edits";

export class Menu {
  /** @type {Row[]} */
  #rows = [];

  /** @param {{lockAll: (locked: boolean) => void, announce: (text: string) => void, failed: (words: string) => void}} panel */
  constructor(panel) {
    this.panel = panel;
    /** @type {HTMLInputElement} */
    this.lockEdits = h("input", { type: "checkbox", checked: recall(), onchange: () => remember(this.lockEdits.checked) });
    this.lockAll = this.#item(t.lockAll, () => panel.lockAll(true));
    this.unlockAll = this.#item(t.unlockAll, () => panel.lockAll(false));
    this.button = h(
      "button",
      {
        type: "button", class: "tool", part: "button", "aria-label": t.more, title: t.more, "aria-expanded": "false",
        "aria-controls": "menu", onclick: () => this.#show(Boolean(this.popup.hidden)),
      },
      icon("more"),
    );
    this.popup = h(
      // It takes focus itself, for browsers in which a press on a button moves none to it
      "div", { class: "menu", id: "menu", part: "menu", role: "group", "aria-label": t.more, tabindex: -1, hidden: true },
      h("label", { class: "choice" }, this.lockEdits, t.lockWrites),
      this.lockAll, this.unlockAll,
      this.#item(t.copyMarkdown, () => this.#copy(this.#markdown())),
      this.#item(t.copyJson, () => this.#copy(asJson(this.#rows))),
      this.#item(t.saveMarkdown, () => save("preferences.md", "text/markdown", this.#markdown())),
      this.#item(t.saveJson, () => save("preferences.json", "application/json", asJson(this.#rows))),
    );
    this.element = h(
      "div",
      { class: "menu-place", hidden: true, onfocusout: (event) => this.#left(event), onkeydown: (event) => this.#key(event) },
      this.button, this.popup,
    );
  }

  /** @param {Row[]} rows as the page shows them */
  update(rows) {
    this.#rows = rows;
    const locked = rows.filter((row) => row.locked).length;
    set(this.lockAll, "aria-disabled", locked === rows.length ? "true" : null);
    set(this.unlockAll, "aria-disabled", locked === 0 ? "true" : null);
    if (!rows.length) this.#show(false);
    this.element.hidden = !rows.length;
  }

  /** @param {string} label @param {() => void} action */
  #item(label, action) {
    return h("button", { type: "button", class: "plain", part: "button", onclick: (event) => this.#press(event, action) }, label);
  }

  /** @param {MouseEvent} press @param {() => void} action */
  #press({ currentTarget }, action) {
    if (/** @type {Element} */ (currentTarget).getAttribute("aria-disabled") === "true") return;
    this.#show(false);
    this.button.focus();
    action();
  }

  /** @param {boolean} shown */
  #show(shown) {
    this.popup.hidden = !shown;
    set(this.button, "aria-expanded", String(shown));
    if (shown) this.popup.focus();
  }

  /** @param {FocusEvent} event */
  #left({ relatedTarget }) {
    if (!this.element.contains(/** @type {Node|null} */ (relatedTarget))) this.#show(false);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "Escape" || this.popup.hidden) return;
    event.preventDefault(); // used up here: a dialog around the panel stays open
    event.stopPropagation();
    this.#show(false);
    this.button.focus();
  }

  /** Under the name of the conversation, where the host gives it. */
  #markdown() {
    const name = /** @type {ShadowRoot} */ (this.element.getRootNode()).host.getAttribute("thread-title");
    return (name ? `# ${plain(name)}\n\n` : "") + asMarkdown(this.#rows);
  }

  /** @param {string} text */
  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.panel.announce(t.copied);
    } catch {
      this.panel.failed(t.notCopied);
    }
  }
}

/** @param {Row[]} rows */
const asJson = (rows) => JSON.stringify(rows.map(({ title, subtitle, kind, locked }) => ({ title, subtitle, kind, locked })), null, 2);

/** @param {Row[]} rows */
function asMarkdown(rows) {
  const parts = Object.entries(t.kinds).map(([kind, heading]) => {
    const own = rows.filter((row) => row.kind === kind);
    return own.length ? `## ${heading}\n\n${own.map(asItem).join("")}` : "";
  });
  return parts.filter(Boolean).join("\n");
}

/** @param {Row} row */
function asItem({ title, subtitle, locked }) {
  const lock = locked ? ` (${t.locked.toLowerCase()})` : "";
  return `- **${plain(title)}**${lock}${subtitle ? `: ${plain(subtitle)}` : ""}\n`;
}

/** Text that Markdown leaves as it is. @param {string} text */
const plain = (text) => text.replace(/[\\`*_{}[\]<>#|~&!]/g, "\\$&").replace(/\s+/g, " ");

/** @param {string} name @param {string} type @param {string} text */
function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // some browsers begin to read a moment later
}

// A browser may refuse storage altogether: then the choice lasts as long as the page
function recall() {
  try {
    return localStorage.getItem(LOCK_EDITS) === "yes";
  } catch {
    return false;
  }
}

/** @param {boolean} yes */
function remember(yes) {
  try {
    localStorage.setItem(LOCK_EDITS, yes ? "yes" : "no");
  } catch {
    // nothing is lost but the memory of it
  }
}
