/**
 * What the agent changed or removed since the person last saw the list, told in its place: which row, what it was
 * before, the agent's reason, and a way to undo it. A line that sticks where it is seen leads to a place that is
 * out of sight. Loaded with the first such change.
 *
 * Who removed a row, why, and by which revision is in the history alone, which is written a moment later.
 * The reason is a stranger's words: it is quoted as plain text, and stands in no label and no announcement.
 */
import { h, icon, say, set } from "./dom.js";
import { Message, FIELDS } from "./preferences-forms.js";
import { changeOf, undo } from "./preferences-history.js";
import { has } from "./preferences-store.js";
import { t } from "./preferences-texts.js";

/**
 * @typedef {import("./preferences-client.js").Entry} Entry
 * @typedef {import("./preferences-client.js").List} List
 * @typedef {import("./preferences-client.js").Row} Row
 * @typedef {import("./preferences-row.js").RowView} RowView
 * @typedef {import("./preferences-store.js").PreferencesStore} PreferencesStore
 *
 * `reveal` shows the list without a search; `leave` moves focus out of an element that is about to go.
 * @typedef {import("./preferences-history.js").Panel & {frame: HTMLElement, row: (id: string) => RowView|undefined,
 *   render: () => void, reveal: () => void, leave: (going: {element: HTMLElement}) => void}} Panel
 *
 * A row as the person last saw it, the ids of its kind before it, nearest first, and the revision of that list.
 * @typedef {{row: Row, earlier: string[], since: number}} Seen
 */

/** How often to look for an entry of the history, and the milliseconds before the second look: they double. */
const LOOK = { times: 7, after: 400 };
const PAGES = 5; // of the history that are read for what happened in the meantime
const COMPOSER = 90; // pixels that the fields for a new one cover below a long list

export class AgentChanges {
  /** @type {Map<string, Seen>} by the row's id: what the history has not explained yet */
  #sought = new Map();
  #reads = 0; // tells the newest read from one that was overtaken
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  /** @type {Map<string, Change>} by the row's id */
  #shown = new Map();
  #unfolded = false;
  /** @type {IntersectionObserver|null} */
  #observer = null;
  /** @type {Change|null} the one that is told while the others are folded */
  #lead = null;
  #away = false; // whether that one is out of sight

  /** @param {Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.words = h("bdi", {});
    this.line = h(
      "p", { class: "away", part: "away", hidden: true },
      this.words, h("button", { type: "button", class: "plain", part: "button", onclick: () => this.#show() }, t.show),
    );
  }

  /** Another conversation begins. */
  forget() {
    this.#reads++;
    clearTimeout(this.#timer);
    this.#sought.clear();
    this.#shown.clear();
    this.draw();
  }

  /** @param {List} before @param {Row[]} rows of it that the agent changed, or that somebody removed */
  learn(before, rows) {
    for (const row of rows) {
      const earlier = before.preferences.slice(0, before.preferences.indexOf(row)).reverse();
      const ids = earlier.filter(({ kind }) => kind === row.kind).map(({ id }) => id);
      this.#sought.set(row.id, { row, earlier: ids, since: before.revision });
    }
    this.#look(0);
  }

  /** @param {number} looks that were in vain */
  async #look(looks) {
    clearTimeout(this.#timer);
    const store = this.panel.store();
    if (!store || !this.#sought.size) return;
    const read = ++this.#reads;
    const since = Math.min(...[...this.#sought.values()].map((seen) => seen.since));
    const entries = await entriesSince(store, since).catch(() => []); // it is tried again
    if (read !== this.#reads) return;
    for (const [id, seen] of this.#sought) {
      const row = store.stored(id);
      const entry = entries.find((each) => each.revision > seen.since && explains(each, id, row));
      if (!entry) continue;
      this.#sought.delete(id);
      this.#shown.get(id)?.element.remove();
      this.#shown.delete(id);
      if (entry.actor === "agent") this.#shown.set(id, new Change(entry, seen, row, this));
    }
    this.panel.render();
    if (looks < LOOK.times) this.#timer = setTimeout(() => this.#look(looks + 1), LOOK.after * 2 ** looks);
    else this.#sought.clear(); // the rows are marked, and the history will have it
  }

  // -- showing -------------------------------------------------------------------------------------------

  /** Lets go of what is so no more, and puts what was changed at its row. */
  draw() {
    const store = this.panel.store();
    for (const [id, change] of this.#shown) {
      const place = this.panel.row(id)?.element;
      if (!change.holds(store?.stored(id))) this.#drop(change);
      else if (!change.isRemoval && change.element.parentNode !== place) place?.append(change.element);
    }
    const all = [...this.#shown.values()].sort((one, other) => other.entry.revision - one.entry.revision);
    if (all.length < 2) this.#unfolded = false;
    const lead = all.find((change) => change.hasFocus) ?? all[0] ?? null; // what has focus is never folded
    this.#follow(lead);
    for (const change of all) change.fold(!this.#unfolded && change !== lead, change === lead && !this.#unfolded ? all.length - 1 : 0);
    this.#drawLine();
  }

  /** What stands in the list of that kind: its rows, and what the agent removed where it stood.
   * @param {string} kind @param {RowView[]} views */
  among(kind, views) {
    /** @type {HTMLElement[]} */
    const elements = views.map(({ element }) => element);
    const removals = [...this.#shown.values()].filter(({ isRemoval, seen }) => isRemoval && seen.row.kind === kind);
    const own = new Set(removals.map(({ element }) => element));
    for (const { element, seen } of removals) {
      const anchor = seen.earlier.map((id) => views.find((view) => view.id === id)).find(Boolean);
      let at = anchor ? elements.indexOf(anchor.element) + 1 : 0;
      while (own.has(elements[at])) at++;
      elements.splice(at, 0, element);
    }
    return elements;
  }

  /** @param {Change} change */
  #drop(change) {
    this.#shown.delete(change.seen.row.id);
    const held = change.hasFocus;
    change.element.remove();
    const row = this.panel.row(change.seen.row.id);
    if (held) queueMicrotask(() => row?.editButton.focus()); // a row that is back has its place by then
  }

  /** Those that are folded into it go with it. @param {Change} change @returns {void} */
  dismiss(change) {
    if (change.isRemoval) this.panel.leave(change);
    else if (change.hasFocus) this.panel.row(change.seen.row.id)?.editButton.focus();
    for (const each of this.#unfolded ? [change] : [...this.#shown.values()]) {
      this.#shown.delete(each.seen.row.id);
      each.element.remove();
    }
    this.panel.render();
  }

  /** @returns {void} */
  unfold() {
    this.#unfolded = true;
    this.draw();
    this.#lead?.group.focus(); // the button that was pressed has gone
  }

  // -- out of sight --------------------------------------------------------------------------------------

  /** Watches whether it is in sight, of the window and of whatever scrolls around it. @param {Change|null} lead */
  #follow(lead) {
    if (lead === this.#lead) return;
    this.#lead = lead;
    this.#observer?.disconnect();
    this.#away = false;
    if (!lead) return;
    const covered = this.panel.frame.hasAttribute("data-long") ? COMPOSER : 0;
    this.#observer = new IntersectionObserver((seen) => {
      this.#away = (seen.at(-1)?.intersectionRatio ?? 0) < 0.5;
      if (!this.#away) lead.wasSeen = true;
      this.#drawLine();
    }, { threshold: 0.5, rootMargin: `0px 0px -${covered}px` });
    this.#observer.observe(lead.head);
  }

  #drawLine() {
    const lead = this.#lead;
    // An open edit tells itself what was changed under it
    const isTold = !lead || lead.wasSeen || !this.#away || this.panel.row(lead.seen.row.id)?.face === "writing";
    this.line.hidden = isTold;
    set(this.panel.frame, "data-away", !isTold);
    if (lead) say(this.words, lead.others ? `${lead.what} ${t.others(lead.others)}` : lead.what);
  }

  #show() {
    const lead = this.#lead;
    if (!lead) return;
    this.panel.reveal();
    lead.wasSeen = true;
    lead.group.scrollIntoView({ block: "center" });
    lead.group.focus({ preventScroll: true });
    this.#drawLine();
  }
}

/** One row that the agent changed or removed. */
class Change {
  wasSeen = false;
  others = 0; // how many are folded into it

  /** @param {Entry} entry @param {Seen} seen @param {Row|undefined} row as it now is @param {AgentChanges} all */
  constructor(entry, seen, row, all) {
    this.entry = entry;
    this.seen = seen;
    this.isRemoval = !row;
    this.revision = row?.revision;
    const title = row?.title ?? seen.row.title;
    const lead = this.isRemoval ? t.agentRemoved : t.agentChanged;
    this.what = `${lead} ${title}`;
    const message = new Message();
    const count = entry.changes.length;
    /** @type {HTMLElement} */
    const back = h(
      "button", {
        type: "button", class: "plain undo", part: "button undo", "aria-label": t.undoOf(this.what),
        onclick: () => undo(all.panel, entry, back, message, this.what),
      },
      icon("undo"), count > 1 ? t.undoAll(count) : t.undo,
    );
    this.othersButton = h("button", { type: "button", class: "plain others", hidden: true, onclick: () => all.unfold() });
    const change = !this.isRemoval && entry.changes.find(({ id }) => id === seen.row.id);
    this.head = h("p", {}, lead, " ", h("bdi", {}, title), " ", this.othersButton);
    /** @type {HTMLElement} */
    this.group = h(
      "div", { class: "change", part: "change", role: "group", "aria-label": this.what, tabindex: -1 },
      this.head, back,
      h("button", { type: "button", class: "tool", "aria-label": t.dismiss, title: t.dismiss, onclick: () => all.dismiss(this) }, icon("close")),
      change && changeOf(change),
      entry.reasoning && h("blockquote", { class: "reason", dir: "auto" }, `“${entry.reasoning}”`),
      message.element,
    );
    /** @type {HTMLElement} */
    this.element = this.isRemoval ? h("li", { class: "gone" }, this.group) : this.group;
  }

  get hasFocus() {
    return this.element.contains(/** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement);
  }

  /** Whether the list is still as this change left it. @param {Row|undefined} row as it now is */
  holds(row) {
    return row?.revision === this.revision;
  }

  /** @param {boolean} folded whether another one tells of it @param {number} others of which this one tells */
  fold(folded, others) {
    this.element.hidden = folded;
    this.others = others;
    this.othersButton.hidden = others === 0;
    say(this.othersButton, t.others(others));
  }
}

/** Newest first. @param {PreferencesStore} store @param {number} since a revision */
async function entriesSince(store, since) {
  /** @type {Entry[]} */
  const all = [];
  let cursor = null;
  for (let page = 0; page < PAGES; page++) {
    const { entries, next } = await store.history(cursor);
    all.push(...entries);
    cursor = next;
    if (!cursor || (entries.at(-1)?.revision ?? 0) <= since) break;
  }
  return all;
}

/** Whether that entry made the row what it now is. @param {Entry} entry @param {string} id @param {Row|undefined} row */
function explains({ changes }, id, row) {
  const change = changes.find((each) => each.id === id);
  if (!change) return false;
  if (!row || !change.after) return !row && !change.after;
  const { after } = change;
  const told = FIELDS.filter((name) => name in after);
  return told.length > 0 && has(row, Object.fromEntries(told.map((name) => [name, after[name]])));
}
