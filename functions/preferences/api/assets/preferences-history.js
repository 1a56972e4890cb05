/** The conversation's history: who changed what, the agent's reason, and a way back from each change. */
import { h, set, say, icon, tell, arrange } from "./dom.js";
import { Message } from "./preferences-forms.js";
import { t } from "./preferences-texts.js";
import { has } from "./preferences-store.js";

/** The history is written from the table's stream, a moment after the change: how often, and when, to look again. */
const LOOK_AGAIN = { times: 6, after: 700 };

/**
 * @typedef {import("./preferences-client.js").Entry} Entry
 * @typedef {import("./preferences-client.js").RequestError} RequestError
 * @typedef {keyof typeof t.names} Name
 *
 * What the history asks of its panel.
 * @typedef {{store: () => import("./preferences-store.js").PreferencesStore|null, announce: (text: string) => void,
 *   failed: (error: RequestError, doing: string) => boolean}} Panel
 */

export class HistoryView {
  /** @type {Map<number, HTMLElement>} by revision: an entry never changes once written */
  #entries = new Map();
  /** @type {string|null} */
  #cursor = null;
  #reads = 0; // tells the newest read from one that was overtaken
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;

  /** @param {Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.shown = false;
    this.loaded = false;
    this.list = h("ol", { class: "entries", role: "list" });
    this.message = new Message();
    this.empty = h("p", { class: "empty", role: "status" }, t.loading);
    this.more = h("button", { type: "button", class: "plain more", hidden: true, onclick: () => this.#older() }, t.older);
    this.element = h("div", { class: "history", part: "history" }, this.message.element, this.list, this.empty, this.more);
  }

  /** @param {boolean} shown */
  show(shown) {
    this.shown = shown;
    clearTimeout(this.#timer);
    if (!shown) return;
    this.refresh();
    this.panel.store()?.refresh(); // the list's revision tells whether the history has caught up
  }

  /** Lets go of what it knows: another conversation begins. */
  forget() {
    this.#reads++;
    this.#cursor = null;
    this.loaded = false;
    this.#take([], true);
  }

  /** Reads the newest page again, until it has caught up with the list. */
  async refresh(tries = LOOK_AGAIN.times) {
    const store = this.panel.store();
    if (!this.shown || !store) return;
    clearTimeout(this.#timer);
    const read = ++this.#reads;
    try {
      const { entries, next } = await store.history();
      if (read !== this.#reads) return;
      const known = this.#entries.size > 0 && entries.some((entry) => this.#entries.has(entry.revision));
      if (!known) this.#cursor = next; // the first page, or so much is new that the pages do not join
      this.loaded = true;
      this.#take(entries, !known);
      this.message.clear();
      const behind = (entries[0]?.revision ?? 0) < store.revision;
      if (behind && tries > 1) this.#timer = setTimeout(() => this.refresh(tries - 1), LOOK_AGAIN.after);
    } catch (caught) {
      if (read !== this.#reads) return;
      this.empty.hidden = true;
      const error = /** @type {RequestError} */ (caught);
      if (this.panel.failed(error, t.notRead)) return;
      this.message.show(t.historyFailed(error.message), [[t.tryAgain, () => this.refresh()]]);
    }
  }

  async #older() {
    const store = this.panel.store();
    if (!store) return;
    set(this.more, "aria-disabled", "true");
    try {
      const { entries, next } = await store.history(this.#cursor);
      this.#cursor = next;
      this.#take(entries, false);
    } catch (caught) {
      const error = /** @type {RequestError} */ (caught);
      this.panel.failed(error, t.notRead);
      this.message.show(t.olderFailed(error.message));
    } finally {
      set(this.more, "aria-disabled", null);
    }
  }

  /** @param {Entry[]} entries @param {boolean} afresh whether they are all that there is to show */
  #take(entries, afresh) {
    if (afresh) this.#entries.clear();
    for (const entry of entries) {
      if (!this.#entries.has(entry.revision)) this.#entries.set(entry.revision, this.#entry(entry));
    }
    const newestFirst = [...this.#entries.keys()].sort((one, other) => other - one);
    arrange(this.list, newestFirst.map((revision) => /** @type {HTMLElement} */ (this.#entries.get(revision))));
    this.empty.hidden = newestFirst.length > 0;
    say(this.empty, this.loaded ? t.noHistory : t.loading);
    this.more.hidden = !this.#cursor;
  }

  /** @param {import("./preferences-client.js").Entry} entry */
  #entry(entry) {
    const when = h("time", {});
    tell(when, entry.at);
    const message = new Message();
    const button = h(
      "button", { type: "button", class: "plain undo", part: "button undo", "aria-label": t.undoOf(entry.summary) },
      icon("undo"), t.undo,
    );
    button.addEventListener("click", () => undo(this.panel, entry, button, message));
    return h(
      "li", { class: "entry", part: "entry", "data-actor": entry.actor },
      h("p", { class: "summary", dir: "auto" }, entry.summary),
      changesOf(entry),
      entry.reasoning && h("blockquote", { class: "reason", dir: "auto" }, entry.reasoning),
      h("p", { class: "meta" }, when),
      entry.changes.length > 0 && button, // a list's beginning is not to be taken back
      message.element,
    );
  }

}

/**
 * Undoes an entry for a press of `button`; `message` tells what stood against it.
 * @param {Panel} panel
 * @param {Entry} entry
 * @param {HTMLElement} button
 * @param {Message} message
 * @param {string} what was done, for the announcement
 */
export async function undo(panel, entry, button, message, what = entry.summary) {
  const store = panel.store();
  if (!store || button.getAttribute("aria-disabled") === "true") return;
  set(button, "aria-disabled", "true");
  message.clear();
  try {
    await store.undo(entry.revision, (list) => isTakenBack(list, entry));
    panel.announce(t.undone(what));
  } catch (caught) {
    const error = /** @type {RequestError} */ (caught);
    panel.failed(error, t.notUndone);
    const reasons = error.problem.conflicts?.map((/** @type {{title: string, reason: string}} */ conflict) => `${conflict.title}: ${conflict.reason}`);
    message.show(t.failed(t.notUndone, reasons?.length ? reasons.join("; ") : error.message), [], "trouble", error.arrived);
  } finally {
    set(button, "aria-disabled", null);
  }
}

/**
 * Whether the list is as it was before that change, as far as that can be seen: a mere move can't.
 * @param {import("./preferences-client.js").List} list
 * @param {Entry} entry
 */
function isTakenBack({ preferences }, { changes }) {
  const isSeen = changes.some(({ before, after }) => !before || !after || Object.keys(before).some((name) => name !== "rank"));
  return isSeen && changes.every(({ id, before }) => {
    const row = preferences.find((each) => each.id === id);
    if (!before) return !row;
    const values = { .../** @type {import("./preferences-client.js").Values & {rank?: number}} */ (before) };
    delete values.rank;
    return has(row, values);
  });
}

/**
 * The words that an edit changed, as far as the summary does not hold them: it says more of one row than of many.
 * @param {Entry} entry
 */
function changesOf({ changes }) {
  const names = /** @type {Name[]} */ (changes.length === 1 ? ["subtitle"] : Object.keys(t.names));
  return listed(changes.flatMap((change) => linesOf(change, names, changes.length > 1 && change.title)));
}

/** What an edit changed of one row, before and after. @param {Entry["changes"][number]} change */
export function changeOf(change) {
  return listed(linesOf(change, /** @type {Name[]} */ (Object.keys(t.names)), false));
}

/** @param {HTMLElement[]} lines */
function listed(lines) {
  return lines.length > 0 && h("ul", { class: "changes", role: "list" }, ...lines);
}

/** @param {Entry["changes"][number]} change @param {Name[]} names @param {string|false} title */
function linesOf({ before, after }, names, title) {
  if (!before || !after) return [];
  return names.filter((name) => name in after).map((name) => line(title, name, before[name], after[name]));
}

/**
 * @param {string|false} title
 * @param {Name} name
 * @param {string|null|undefined} before
 * @param {string|null|undefined} after
 */
function line(title, name, before, after) {
  /** @param {string|null|undefined} value */
  const words = (value) => (name === "kind" && value ? t.kinds[/** @type {keyof typeof t.kinds} */ (value)] : value) ?? t.nothing;
  return h(
    "li", {}, title && h("bdi", {}, title), title && ", ", h("span", { class: "change-name" }, t.names[name]), " ",
    h("del", {}, h("span", { class: "unseen" }, t.from), h("bdi", {}, words(before))), " ",
    h("ins", {}, h("span", { class: "unseen" }, t.to), h("bdi", {}, words(after))),
  );
}
