/**
 * One preference on the page. Its element lives as long as the row does, whatever the list does around it,
 * and has three faces: reading, writing (the edit in place) and removed (with the way back at hand).
 */
import { h, set, say, icon, tell } from "./dom.js";
import { DraftForm, Message, FIELDS, difference } from "./preferences-forms.js";
import { RequestError } from "./preferences-client.js";
import { has } from "./preferences-store.js";
import { t } from "./preferences-texts.js";

/**
 * @typedef {import("./preferences-client.js").RequestError} RequestFailure
 * @typedef {import("./preferences-client.js").Row} Row
 * @typedef {import("./preferences-client.js").Suggestion} Suggestion
 * @typedef {import("./preferences-client.js").Draft} Draft
 * @typedef {import("./preferences-client.js").Values} Values
 * @typedef {import("./preferences-client.js").Kind} Kind
 * @typedef {import("./preferences-store.js").ShownRow} ShownRow
 * @typedef {import("./preferences-store.js").PreferencesStore} PreferencesStore
 *
 * What a row asks of its panel.
 * @typedef {{store: () => PreferencesStore, lockEdits: () => boolean,
 *   announce: (text: string) => void, failed: (error: RequestFailure, doing: string) => boolean, render: () => void,
 *   keep: (id: string, edit: {base: Row, draft: Draft}|null) => void,
 *   step: (id: string, by: number) => void, grab: (event: PointerEvent, row: RowView) => void,
 *   leave: (row: RowView) => void, moves: (row: RowView) => void, superseded: (matter: string) => void,
 *   write: (id: string, draft: Draft|null) => void, removeAsSuggested: (suggestion: Suggestion) => void}} Panel
 */

/** The history is written a moment after the change: how often, and after how many milliseconds, to look for one. */
const LOOK = { times: 6, after: 700 };

/** Milliseconds in which a strip takes no press: the second click of a double click is meant for what was there. */
const SETTLE = 600;

export class RowView {
  // The form for the edit in place, and the strip of a removed row: built when first needed
  /** @type {DraftForm} */ form;
  /** @type {HTMLElement} */ writing;
  /** @type {HTMLElement} */ conflict;
  /** @type {HTMLElement} */ theirWords;
  /** @type {HTMLElement} */ theirTitle;
  /** @type {HTMLElement} */ theirSubtitle;
  /** @type {HTMLElement} */ theirKind;
  /** @type {HTMLElement} */ strip;
  /** @type {HTMLElement} */ stripWords;
  /** @type {HTMLElement} */ stripTitle;
  /** @type {HTMLElement} */ undoButton;
  /** @type {HTMLElement} */ othersButton;
  /** @type {Message} */ stripMessage;

  /** @param {string} id @param {Panel} panel */
  constructor(id, panel) {
    this.id = id;
    this.panel = panel;
    /** @type {"reading"|"writing"|"removed"} */
    this.face = "reading";
    /** @type {ShownRow} as last shown: there is none before the first time only */
    this.row = /** @type {any} */ (null);
    /** @type {Kind} */
    this.section = "soft"; // the kind under which it stands on the page
    /** @type {Row} while writing: the row as it was when the person last saw it */
    this.base = this.row;
    this.gone = false; // while writing: the row is no longer in the list
    this.saving = false;
    this.undoing = false;
    /** @type {(() => void)|null} */
    this.unfold = null;
    this.filtered = false; // a search leaves it out
    this.settled = 0; // from when on the strip takes presses
    this.removal = 0; // the revision that removed it, once that is known
    /** @type {string|null} */
    this.after = null; // the row before this one when last shown, for a row that lingers

    this.grip = h(
      "button",
      {
        type: "button", class: "grip", part: "grip", "aria-expanded": "false", "aria-describedby": "move-help",
        onkeydown: (event) => this.#moveByKey(event),
        onpointerdown: (event) => this.panel.grab(event, this),
        onclick: () => (this.moves.hidden ? this.#showMoves() : this.hideMoves()),
      },
      icon("grip"),
    );
    this.number = h("span", { class: "number", part: "number", title: t.agentsNumber });
    this.title = h("p", { class: "title", part: "title", dir: "auto" });
    this.subtitle = h("p", { class: "subtitle", part: "subtitle", dir: "auto" });
    this.freshWord = h("span", { class: "fresh", part: "fresh" });
    this.lockWord = h("span", { class: "lock-word" }, t.locked);
    this.who = h("span", {});
    this.when = h("time", {});
    this.pendingWord = h("span", { class: "pending-word" });
    this.from = h("span", { class: "origin" }, this.who, " ", this.when);
    const meta = h(
      "p", { class: "meta", part: "meta" },
      this.freshWord, this.lockWord, this.from, this.pendingWord,
    );
    /** @type {HTMLButtonElement} */
    this.lockButton = this.#button("lock", () => this.#setLock(!this.row.locked), icon("unlocked"), icon("locked"));
    this.editButton = this.#button("edit", () => this.write(), icon("edit"));
    this.removeButton = this.#button("remove", () => this.#askToRemove(), icon("remove"));
    this.moves = h(
      "div", { class: "moves", role: "group", "aria-label": t.move, hidden: true, onkeydown: (event) => this.#closeByKey(event) },
      h("button", { type: "button", class: "plain", onclick: () => this.panel.step(this.id, -1) }, icon("up"), t.up),
      h("button", { type: "button", class: "plain", onclick: () => this.panel.step(this.id, 1) }, icon("down"), t.down),
      h("button", { type: "button", class: "plain", onclick: () => this.#closeMoves() }, t.done),
    );
    this.message = new Message();
    this.reading = h(
      "div", { class: "reading" },
      this.grip, this.number,
      h("div", { class: "words" }, this.title, meta),
      this.subtitle,
      h("div", { class: "actions" }, this.lockButton, this.editButton, this.removeButton),
      this.moves, this.message.element,
    );
    this.suggested = h("div", { class: "row-suggestions" }); // what the agent suggests for it, filled by the panel
    this.element = h("li", { class: "row", part: "row" }, this.reading, this.suggested);
  }

  /** @param {boolean} filtered whether a search leaves it out; a row that asks or tells something stays in sight */
  filter(filtered) {
    this.filtered = filtered && !this.lingers;
    set(this.element, "data-filtered", this.filtered);
  }

  /** Whether it stays on the page although the list no longer has it. */
  get lingers() {
    return this.face !== "reading" || this.saving;
  }

  /** @param {string} name @param {() => void} onclick @param {...Node} drawing */
  #button(name, onclick, ...drawing) {
    const press = (/** @type {MouseEvent} */ { currentTarget }) =>
      /** @type {Element} */ (currentTarget).getAttribute("aria-disabled") !== "true" && onclick();
    return h("button", { type: "button", class: `tool ${name}`, part: `button ${name}`, onclick: press }, ...drawing);
  }

  // -- showing -------------------------------------------------------------------------------------------

  /** @param {ShownRow|null} row null when the list does not have it */
  show(row) {
    if (row) this.#read(row);
    if (this.face === "writing") this.#compare(this.panel.store().stored(this.id));
    if (this.face === "removed" && row) this.#turn("reading", this.editButton); // undone, here or elsewhere
    if (this.face !== "removed") this.element.hidden = false;
    this.#faces();
  }

  /** @param {ShownRow} row */
  #read(row) {
    this.row = row;
    if (this.face !== "writing") this.section = row.kind; // a form under someone's hands does not wander off
    const { element } = this;
    set(element, "data-kind", row.kind);
    set(element, "data-locked", row.locked);
    set(element, "data-pending", Boolean(row.pending));
    set(element, "data-fresh", row.fresh ?? false);
    set(element, "data-unsaved", Boolean(row.unsaved));
    say(this.number, String(row.position));
    say(this.title, row.title);
    say(this.subtitle, row.subtitle ?? "");
    this.subtitle.hidden = !row.subtitle;
    say(this.freshWord, row.fresh ? t.fresh[row.fresh] : "");
    this.freshWord.hidden = !row.fresh;
    this.lockWord.hidden = !row.locked || Boolean(row.pending);
    const from = origin(row);
    this.from.hidden = !from;
    if (from) {
      say(this.who, row.fresh ? t.byAgent : from.who); // the mark says already what it did
      tell(this.when, from.when);
    }
    say(this.pendingWord, row.pending ? t.pending[/** @type {keyof typeof t.pending} */ (row.pending)] : "");
    this.pendingWord.hidden = !row.pending;
    set(this.lockButton, "aria-pressed", String(row.locked));
    /** @type {Array<[Element, string]>} */
    const buttons = [[this.lockButton, t.lock], [this.editButton, t.edit], [this.removeButton, t.remove], [this.grip, t.move]];
    for (const [button, verb] of buttons) {
      set(button, "aria-label", t.named(verb, row.title));
      set(button, "title", button === this.lockButton && row.locked ? t.unlock : verb);
    }
    // An edit on its way will change the row's revision: what builds on it has to wait for the answer
    const waiting = row.pending === "Saving" ? "true" : null;
    for (const button of [this.editButton, this.removeButton]) set(button, "aria-disabled", waiting);
  }

  #faces() {
    set(this.element, "data-face", this.face);
    this.reading.hidden = this.suggested.hidden = this.face !== "reading";
    if (this.writing) this.writing.hidden = this.face !== "writing";
    if (this.strip) this.strip.hidden = this.face !== "removed";
  }

  get #hasFocus() {
    return this.element.contains(/** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement);
  }

  /**
   * Changes the face; focus that was in the old one goes to `next`, focus elsewhere stays where it is.
   * @param {"reading"|"writing"|"removed"} face
   * @param {HTMLElement} next
   */
  #turn(face, next) {
    const held = this.#hasFocus;
    this.face = face;
    this.#faces();
    if (held) next.focus();
  }

  // -- locking and moving --------------------------------------------------------------------------------

  /** @param {boolean} locked what is asked for: trying again asks for the same, whatever the row is by then */
  async #setLock(locked) {
    this.message.clear();
    this.panel.superseded("lock");
    try {
      await this.panel.store().lock(this.id, locked);
    } catch (caught) {
      const error = /** @type {RequestFailure} */ (caught);
      const doing = locked ? t.notLocked : t.stillLocked;
      if (this.panel.failed(error, doing)) return;
      this.message.show(t.failed(doing, error.message), [[t.tryAgain, () => this.#setLock(locked)]], "trouble", error.arrived);
    }
  }

  /** @param {KeyboardEvent} event */
  #moveByKey(event) {
    if (event.key === "Escape") return this.#closeByKey(event);
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (!by || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.panel.step(this.id, by);
  }

  /** The way to move a row without dragging and without arrow keys. */
  #showMoves() {
    this.moves.hidden = false;
    set(this.grip, "aria-expanded", "true");
    this.panel.moves(this);
  }

  hideMoves() {
    this.moves.hidden = true;
    set(this.grip, "aria-expanded", "false");
  }

  #closeMoves() {
    this.hideMoves();
    this.grip.focus();
  }

  /** @param {KeyboardEvent} event */
  #closeByKey(event) {
    if (event.key !== "Escape" || this.moves.hidden) return;
    event.preventDefault(); // used up here: a dialog around the panel stays open
    event.stopPropagation();
    this.#closeMoves();
  }

  // -- writing -------------------------------------------------------------------------------------------

  /** Opens the edit that was open when the person left. @param {Row} base @param {Draft} draft */
  resume(base, draft) {
    if (this.face === "writing") return;
    if (!this.row) this.#read({ ...base, pending: null, held: false, fresh: null });
    this.#open(base, draft);
  }

  /** Opens the edit in place. @param {Draft|null} [draft] what to begin with */
  write(draft = null) {
    const base = this.panel.store().stored(this.id) ?? this.row;
    this.#open(base, draft ?? base);
    this.form.title.focus();
    if (draft) this.#keep();
  }

  /** @param {Row} base @param {Draft} draft */
  #open(base, draft) {
    if (!this.form) this.#buildForm();
    this.message.clear();
    this.#clearConflict();
    this.gone = false;
    this.base = base;
    this.form.write(draft);
    this.#turn("writing", this.form.title);
    this.panel.render();
  }

  #buildForm() {
    this.form = new DraftForm({
      titleHint: t.title, submit: t.save, onsubmit: () => this.#save(), oncancel: () => this.#stopWriting(),
    });
    this.form.element.addEventListener("input", () => this.#keep());
    this.theirWords = h("p", { class: "conflict-lead" });
    this.theirTitle = h("p", { class: "title", dir: "auto" });
    this.theirSubtitle = h("p", { class: "subtitle", dir: "auto" });
    this.theirKind = h("p", { class: "meta" });
    const theirs = h("div", { class: "theirs", part: "conflict" }, this.theirTitle, this.theirSubtitle, this.theirKind);
    const take = h("button", { type: "button", class: "plain", onclick: () => this.#takeTheirs() }, t.takeTheirs);
    this.conflict = h(
      "div", { class: "conflict", role: "group", "aria-label": t.meanwhile, hidden: true },
      this.theirWords, theirs, take, h("p", { class: "conflict-lead" }, t.yours),
    );
    this.writing = h("div", { class: "writing" }, this.conflict, this.form.element);
    this.element.append(this.writing);
  }

  #keep() {
    this.panel.keep(this.id, { base: this.base, draft: this.form.read() });
  }

  #stopWriting() {
    this.panel.keep(this.id, null);
    this.#clearConflict();
    this.#turn("reading", this.editButton);
    if (this.gone) this.panel.leave(this);
    this.panel.render();
  }

  async #save() {
    const draft = this.form.read();
    if (this.gone) return this.#addAgain(draft);
    const { base } = this;
    /** @type {Values} */
    const changes = difference(base, draft);
    if (!Object.keys(changes).length) return this.#stopWriting();
    if (this.panel.lockEdits()) changes.locked = true;
    this.#clearConflict();
    this.#turn("reading", this.editButton);
    this.saving = true;
    try {
      await this.panel.store().edit(this.id, changes, base.revision);
      if (this.face !== "writing") this.panel.keep(this.id, null);
    } catch (caught) {
      const error = /** @type {RequestFailure} */ (caught);
      this.#reopen(base, changes, error);
    } finally {
      this.saving = false;
    }
  }

  /**
   * The text was not taken: its form comes back as it was left, with what can be done about it.
   * @param {Row} base
   * @param {Values} changes
   * @param {RequestFailure} error
   */
  #reopen(base, changes, error) {
    const { current } = error.problem;
    if (error.code === "precondition_failed" && has(current, changes)) return this.#isSaved(); // by the copy whose answer was lost
    const isTold = this.panel.failed(error, t.notSaved);
    this.base = base;
    this.#turn("writing", this.form.title);
    const text = JSON.stringify(this.form.read());
    // Unless the person has written on
    error.arrived?.then(() => this.face === "writing" && JSON.stringify(this.form.read()) === text && this.#isSaved());
    if (error.code === "precondition_failed" && current) this.#meet(current);
    else if (error.code === "not_found") this.#loseRow();
    else if (!isTold) this.form.refuse(error, () => this.form.element.requestSubmit());
    this.panel.render();
  }

  #isSaved() {
    this.#stopWriting();
    this.panel.announce(t.saved);
  }

  /** Looks, at each refresh, whether the row under the pen is still the one that the person started from. @param {Row|undefined} stored */
  #compare(stored) {
    if (!this.panel.store().loaded || this.gone) return;
    if (!stored) this.#loseRow();
    else if (stored.revision > this.base.revision) this.#meet(stored);
  }

  /** Shows the newer row beside the person's text; fields that the person left alone follow it. @param {Row} theirs */
  #meet(theirs) {
    const mine = this.form.read();
    const untouched = FIELDS.filter((field) => (mine[field] ?? null) === (this.base[field] ?? null));
    this.form.write({ ...mine, ...Object.fromEntries(untouched.map((field) => [field, theirs[field]])) });
    this.base = theirs;
    this.#keep();
    const byAgent = theirs.updated_by === "agent";
    const apart = Object.keys(difference(theirs, this.form.read())).length > 0;
    this.conflict.hidden = !apart;
    if (!apart) {
      this.form.label(t.save);
      return this.form.message.show(t.newest(byAgent), [], "calm");
    }
    say(this.theirWords, t.whileWriting(byAgent));
    say(this.theirTitle, theirs.title);
    say(this.theirSubtitle, theirs.subtitle ?? "");
    this.theirSubtitle.hidden = !theirs.subtitle;
    say(this.theirKind, t.kinds[theirs.kind]);
    this.form.label(t.applyMine);
    this.form.message.show(t.bothHere, [], "calm");
  }

  #takeTheirs() {
    this.form.write(this.base);
    this.#stopWriting();
  }

  #loseRow() {
    this.gone = true;
    this.conflict.hidden = true;
    this.form.label(t.addAgain);
    this.form.message.show(t.goneWhileWriting);
  }

  /** @param {Draft} draft */
  async #addAgain(draft) {
    this.form.waiting = true;
    try {
      await this.panel.store().add(draft);
      this.#stopWriting();
    } catch (caught) {
      const error = /** @type {RequestFailure} */ (caught);
      if (!this.panel.failed(error, t.notSaved)) this.form.refuse(error, () => this.form.element.requestSubmit());
    } finally {
      this.form.waiting = false;
    }
  }

  #clearConflict() {
    if (!this.form) return;
    this.conflict.hidden = true;
    this.form.label(t.save);
    this.form.message.clear();
  }

  // -- removing ------------------------------------------------------------------------------------------

  /** A lock says that the row matters: that costs one question. */
  #askToRemove() {
    const { revision, locked } = this.row;
    const remove = () => this.#remove(revision);
    if (locked) this.message.show(t.askLocked, [[t.removeIt, remove], [t.keepIt, () => this.#spare()]]);
    else remove();
  }

  #spare() {
    this.message.clear();
    this.removeButton.focus();
  }

  /** Removes it as the agent suggests. @param {Suggestion} suggestion */
  removeAsSuggested(suggestion) {
    this.#remove(this.row.revision, suggestion);
  }

  /** @param {number} revision that the person was looking at @param {Suggestion} [suggestion] */
  async #remove(revision, suggestion) {
    if (!this.strip) this.#buildStrip();
    const held = this.#hasFocus;
    this.message.clear();
    this.removal = 0;
    this.settled = performance.now() + SETTLE;
    this.#sayRemoved(t.removing);
    this.face = "removed";
    this.#faces();
    if (held) this.undoButton.focus();
    try {
      const store = this.panel.store();
      const list = await (suggestion ? store.accept(suggestion) : store.remove(this.id, revision));
      this.removal = list.inferred ? 0 : list.revision;
      this.#sayGone(t.removed);
      this.panel.announce(t.removedOne(this.row.title));
    } catch (caught) {
      const error = /** @type {RequestFailure} */ (caught);
      if (error.code === "not_found" && !this.panel.store().stored(this.id)) return this.#sayGone(t.alreadyRemoved);
      const isTold = this.panel.failed(error, t.notRemoved);
      this.#turn("reading", this.removeButton);
      const { current } = error.problem;
      if (current) this.message.show(t.changedBefore, [[t.removeAnyway, () => this.#remove(current.revision)]]);
      else if (!isTold) this.message.show(t.failed(t.notRemoved, error.message), [[t.tryAgain, () => this.#remove(revision, suggestion)]]);
      error.arrived?.then(() => this.#confirmRemoval());
      this.panel.render();
    }
  }

  /** The answer to the removal was lost, and a later list shows that it was done, here or elsewhere. */
  #confirmRemoval() {
    if (this.face !== "reading") return;
    this.#turn("removed", this.undoButton);
    this.message.clear();
    this.#sayGone(t.removed);
    this.panel.announce(t.removedOne(this.row.title));
  }

  #buildStrip() {
    this.stripWords = h("span", { class: "strip-words" });
    this.stripTitle = h("bdi", {});
    this.undoButton = h("button", { type: "button", class: "plain undo", part: "button undo", onclick: this.#pressed(() => this.#undoRemoval()) }, icon("undo"), t.undo);
    const close = h("button", { type: "button", class: "tool", "aria-label": t.dismiss, title: t.dismiss, onclick: this.#pressed(() => this.#dismiss()) }, icon("close"));
    this.othersButton = h("button", { type: "button", class: "plain others", hidden: true, onclick: () => this.unfold?.() });
    this.stripMessage = new Message();
    this.strip = h(
      "div", { class: "strip", part: "removed" },
      h("p", {}, this.stripWords, " ", this.stripTitle, " ", this.othersButton), this.undoButton, close, this.stripMessage.element,
    );
    this.element.append(this.strip);
  }

  /** @param {string} words */
  #sayRemoved(words) {
    say(this.stripWords, words);
    say(this.stripTitle, this.row.title);
    // It holds focus from the start, and works as soon as the removal is acknowledged
    set(this.undoButton, "aria-disabled", this.removal ? null : "true");
    this.stripMessage.clear();
  }

  /** It is gone: if it is not known by which change, the history tells. @param {string} words */
  #sayGone(words) {
    this.#sayRemoved(words);
    set(this.undoButton, "aria-disabled", null);
  }

  /** The newest change that removed it. @returns {Promise<number>} its revision */
  async #findRemoval() {
    for (let looks = 0; looks < LOOK.times; looks++) {
      if (looks) await new Promise((wake) => setTimeout(wake, LOOK.after));
      const { entries } = await this.panel.store().history();
      const removal = entries.find(({ changes }) => changes.some(({ id, after }) => id === this.id && !after));
      if (removal) return removal.revision;
    }
    throw new RequestError("not_ready", 0);
  }

  /**
   * Of a removed row: whether it is out of sight, and how many others are, which this one leads to.
   * @param {boolean} folded
   * @param {number} others
   * @param {(() => void)|null} unfold
   */
  fold(folded, others = 0, unfold = null) {
    this.element.hidden = folded;
    this.unfold = unfold;
    this.othersButton.hidden = others === 0;
    say(this.othersButton, t.others(others));
  }

  /** @param {() => void} action */
  #pressed(action) {
    return () => performance.now() > this.settled && action();
  }

  async #undoRemoval() {
    if (this.undoing || this.undoButton.getAttribute("aria-disabled") === "true") return;
    this.undoing = true;
    this.stripMessage.show(t.puttingBack, [], "calm");
    try {
      this.removal ||= await this.#findRemoval();
      await this.panel.store().undo(this.removal, ({ preferences }) => preferences.some((row) => row.id === this.id));
      this.panel.announce(t.isBack(this.row.title));
    } catch (caught) {
      const error = /** @type {RequestFailure} */ (caught);
      this.stripMessage.clear();
      if (!this.panel.failed(error, t.notPutBack)) this.stripMessage.show(t.failed(t.notPutBack, error.message), [], "trouble", error.arrived);
    } finally {
      this.undoing = false;
    }
  }

  #dismiss() {
    this.panel.leave(this);
    this.face = "reading";
    this.panel.render();
  }
}

/**
 * Where a row comes from, told only where that is the agent. A removal that is taken back is the person's change
 * of a row that still is the agent's.
 * @param {Row} row
 */
function origin(row) {
  if (row.updated_by === "agent") return { who: row.updated_at === row.created_at ? t.addedByAgent : t.changedByAgent, when: row.updated_at };
  return row.created_by === "agent" ? { who: t.addedByAgent, when: row.created_at } : null;
}
