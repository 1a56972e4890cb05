/**
 * One preference on the page. Its element lives as long as the row does, whatever the list does around it,
 * and has three faces: reading, writing (the edit in place) and removed (with the way back at hand).
 */
import { h, set, say, icon, tell } from "./dom.js";
import { DraftForm, Message, KINDS, FIELDS, difference } from "./preferences-forms.js";
import { RequestError } from "./preferences-client.js";
import { has } from "./preferences-store.js";

/**
 * What a row asks of its panel.
 * @typedef {{store: () => import("./preferences-store.js").PreferencesStore|null, lockEdits: () => boolean,
 *   announce: (text: string) => void, failed: (error: Error, doing: string) => boolean, render: () => void,
 *   keep: (id: string, edit: {base: any, draft: import("./preferences-client.js").Draft}|null) => void,
 *   step: (id: string, by: number) => void, grab: (event: PointerEvent, row: RowView) => void,
 *   leave: (row: RowView) => void, superseded: (matter: string) => void,
 *   write: (id: string, draft: import("./preferences-client.js").Draft|null) => void,
 *   removeAsSuggested: (suggestion: import("./preferences-client.js").Suggestion) => void}} Panel
 */

/** The history is written a moment after the change: how often, and after how many milliseconds, to look for one. */
const LOOK = { times: 6, after: 700 };

/** Milliseconds in which a strip takes no press: the second click of a double click is meant for what was there. */
const SETTLE = 600;

export class RowView {
  /** @param {string} id @param {Panel} panel */
  constructor(id, panel) {
    this.id = id;
    this.panel = panel;
    this.face = "reading"; // or "writing", "removed"
    this.row = null;
    this.section = "soft"; // the kind under which it stands on the page
    this.base = null; // while writing: the row as it was when the person last saw it
    this.gone = false; // while writing: the row is no longer in the list
    this.saving = false;
    this.settled = 0; // from when on the strip takes presses
    this.removal = 0; // the revision that removed it, once that is known
    this.after = null; // the row before this one when last shown, for a row that lingers
    this.#build();
  }

  /** Whether it stays on the page although the list no longer has it. */
  get lingers() {
    return this.face !== "reading" || this.saving;
  }

  // -- building ------------------------------------------------------------------------------------------

  #build() {
    this.grip = h(
      "button",
      {
        type: "button", class: "grip", part: "grip", "aria-expanded": "false", "aria-describedby": "move-help",
        onkeydown: (event) => this.#moveByKey(event),
        onpointerdown: (event) => this.panel.grab(event, this),
        onclick: () => this.#showMoves(this.moves.hidden),
      },
      icon("grip"),
    );
    this.number = h("span", { class: "number", part: "number" });
    this.title = h("p", { class: "title", part: "title", dir: "auto" });
    this.subtitle = h("p", { class: "subtitle", part: "subtitle", dir: "auto" });
    this.freshWord = h("span", { class: "fresh", part: "fresh" });
    this.lockWord = h("span", { class: "lock-word" }, "Locked");
    this.who = h("span", {});
    this.when = h("time", {});
    this.pendingWord = h("span", { class: "pending-word" });
    this.from = h("span", { class: "origin" }, this.who, " ", this.when);
    const meta = h(
      "p", { class: "meta", part: "meta" },
      this.freshWord, this.lockWord, this.from, this.pendingWord,
    );
    this.lockButton = this.#button("lock", () => this.#setLock(!this.row.locked), icon("unlocked"), icon("locked"));
    this.editButton = this.#button("edit", () => this.write(), icon("edit"));
    this.removeButton = this.#button("remove", () => this.#askToRemove(), icon("remove"));
    this.moves = h(
      "div", { class: "moves", role: "group", "aria-label": "Move", hidden: true },
      h("button", { type: "button", class: "plain", onclick: () => this.panel.step(this.id, -1) }, icon("up"), "Up"),
      h("button", { type: "button", class: "plain", onclick: () => this.panel.step(this.id, 1) }, icon("down"), "Down"),
      h("button", { type: "button", class: "plain", onclick: () => this.#showMoves(false, true) }, "Done"),
    );
    this.message = new Message();
    this.reading = h(
      "div", { class: "reading" },
      this.grip, this.number,
      h("div", { class: "words" }, this.title, this.subtitle),
      meta,
      h("div", { class: "actions" }, this.lockButton, this.editButton, this.removeButton),
      this.moves, this.message.element,
    );
    this.suggested = h("div", { class: "row-suggestions" }); // what the agent suggests for it, filled by the panel
    this.element = h("li", { class: "row", part: "row" }, this.reading, this.suggested);
  }

  #button(name, onclick, ...drawing) {
    const press = () => this[`${name}Button`].getAttribute("aria-disabled") !== "true" && onclick();
    return h("button", { type: "button", class: `tool ${name}`, part: `button ${name}`, onclick: press }, ...drawing);
  }

  // -- showing -------------------------------------------------------------------------------------------

  /** @param {any} row as the store shows it, or null when the list does not have it */
  show(row) {
    if (row) this.#read(row);
    if (this.face === "writing") this.#compare(this.panel.store().stored(this.id));
    if (this.face === "removed" && row) this.#turn("reading", this.editButton); // undone, here or elsewhere
    this.#faces();
  }

  #read(row) {
    this.row = row;
    if (this.face !== "writing") this.section = row.kind; // a form under someone's hands does not wander off
    const { element } = this;
    set(element, "data-kind", row.kind);
    set(element, "data-locked", row.locked);
    set(element, "data-pending", Boolean(row.pending));
    set(element, "data-fresh", row.fresh ?? false);
    set(element, "data-unsaved", Boolean(row.unsaved));
    set(this.number, "class", `number mark-${row.kind}`);
    say(this.number, String(row.position));
    say(this.title, row.title);
    say(this.subtitle, row.subtitle ?? "");
    this.subtitle.hidden = !row.subtitle;
    say(this.freshWord, row.fresh ?? "");
    this.freshWord.hidden = !row.fresh;
    this.lockWord.hidden = !row.locked || Boolean(row.pending);
    const [who, when] = origin(row) ?? [];
    this.from.hidden = !who;
    if (who) {
      say(this.who, who);
      tell(this.when, when);
    }
    say(this.pendingWord, row.pending ? `${row.pending}…` : "");
    this.pendingWord.hidden = !row.pending;
    set(this.lockButton, "aria-pressed", String(row.locked));
    for (const [button, verb] of [
      [this.lockButton, "Lock"], [this.editButton, "Edit"], [this.removeButton, "Remove"], [this.grip, "Move"],
    ]) {
      set(button, "aria-label", `${verb} ${row.title}`);
      set(button, "title", button === this.lockButton && row.locked ? "Unlock" : verb);
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

  /** Changes the face; focus that was in the old one goes to `next`, focus elsewhere stays where it is. */
  #turn(face, next) {
    const held = this.element.contains(this.element.getRootNode().activeElement);
    this.face = face;
    this.#faces();
    if (held && next) next.focus();
  }

  // -- locking and moving --------------------------------------------------------------------------------

  /** @param {boolean} locked what is asked for: trying again asks for the same, whatever the row is by then */
  async #setLock(locked) {
    this.message.clear();
    this.panel.superseded("lock");
    try {
      await this.panel.store().lock(this.id, locked);
    } catch (error) {
      const doing = locked ? "Not locked" : "Still locked";
      if (this.panel.failed(error, doing)) return;
      this.message.show(`${doing}: ${error.message}.`, [["Try again", () => this.#setLock(locked)]], "trouble", error.arrived);
    }
  }

  #moveByKey(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.panel.step(this.id, by);
  }

  /** The way to move a row without dragging and without arrow keys. */
  #showMoves(shown, back = false) {
    this.moves.hidden = !shown;
    set(this.grip, "aria-expanded", String(shown));
    if (back) this.grip.focus();
  }

  // -- writing -------------------------------------------------------------------------------------------

  /** Opens the edit that was open when the person left. */
  resume(base, draft) {
    if (this.face === "writing") return;
    if (!this.row) this.#read(base);
    this.#open(base, draft);
  }

  /** Opens the edit in place. @param {import("./preferences-client.js").Draft|null} [draft] what to begin with */
  write(draft = null) {
    const base = this.panel.store().stored(this.id) ?? this.row;
    this.#open(base, draft ?? base);
    this.form.title.focus();
    if (draft) this.#keep();
  }

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
      titleHint: "Title", submit: "Save", onsubmit: () => this.#save(), oncancel: () => this.#stopWriting(),
    });
    this.form.element.addEventListener("input", () => this.#keep());
    this.theirWords = h("p", { class: "conflict-lead" });
    this.theirTitle = h("p", { class: "title", dir: "auto" });
    this.theirSubtitle = h("p", { class: "subtitle", dir: "auto" });
    this.theirKind = h("p", { class: "meta" });
    this.theirs = h("div", { class: "theirs", part: "conflict" }, this.theirTitle, this.theirSubtitle, this.theirKind);
    this.takeButton = h("button", { type: "button", class: "plain", onclick: () => this.#takeTheirs() }, "Take theirs");
    this.conflict = h(
      "div", { class: "conflict", role: "group", "aria-label": "Changed meanwhile", hidden: true },
      this.theirWords, this.theirs, this.takeButton, h("p", { class: "conflict-lead" }, "Yours:"),
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
    const changes = difference(base, draft);
    if (!Object.keys(changes).length) return this.#stopWriting();
    if (this.panel.lockEdits()) changes.locked = true;
    this.#clearConflict();
    this.#turn("reading", this.editButton);
    this.saving = true;
    try {
      await this.panel.store().edit(this.id, changes, base.revision);
      if (this.face !== "writing") this.panel.keep(this.id, null);
    } catch (error) {
      this.#reopen(base, changes, error);
    } finally {
      this.saving = false;
    }
  }

  /** The text was not taken: its form comes back as it was left, with what can be done about it. */
  #reopen(base, changes, error) {
    const { current } = error.problem;
    if (error.code === "precondition_failed" && has(current, changes)) return this.#isSaved(); // by the copy whose answer was lost
    const isTold = this.panel.failed(error, "Not saved");
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
    this.panel.announce("Saved.");
  }

  /** Looks, at each refresh, whether the row under the pen is still the one that the person started from. */
  #compare(stored) {
    if (!this.panel.store().loaded || this.gone) return;
    if (!stored) this.#loseRow();
    else if (stored.revision > this.base.revision) this.#meet(stored);
  }

  /** Shows the newer row beside the person's text; fields that the person left alone follow it. */
  #meet(theirs) {
    const mine = this.form.read();
    const untouched = FIELDS.filter((field) => (mine[field] ?? null) === (this.base[field] ?? null));
    this.form.write({ ...mine, ...Object.fromEntries(untouched.map((field) => [field, theirs[field]])) });
    this.base = theirs;
    this.#keep();
    const whose = theirs.updated_by === "agent" ? "the agent" : "you, elsewhere";
    const apart = Object.keys(difference(theirs, this.form.read())).length > 0;
    this.conflict.hidden = !apart;
    if (!apart) {
      this.form.label("Save");
      return this.form.message.show(`Changed by ${whose} just now: this is the newest text.`, [], "calm");
    }
    say(this.theirWords, `Changed by ${whose} while you were writing:`);
    say(this.theirTitle, theirs.title);
    say(this.theirSubtitle, theirs.subtitle ?? "");
    this.theirSubtitle.hidden = !theirs.subtitle;
    say(this.theirKind, KINDS[theirs.kind]);
    this.form.label("Apply mine again");
    this.form.message.show("Both versions are here. Apply yours again, or take theirs.", [], "calm");
  }

  #takeTheirs() {
    this.form.write(this.base);
    this.#stopWriting();
  }

  #loseRow() {
    this.gone = true;
    this.conflict.hidden = true;
    this.form.label("Add it again");
    this.form.message.show("It was removed while you were writing. Your text is still here.");
  }

  async #addAgain(draft) {
    this.form.waiting = true;
    try {
      await this.panel.store().add(draft);
      this.#stopWriting();
    } catch (error) {
      if (!this.panel.failed(error, "Not saved")) this.form.refuse(error, () => this.form.element.requestSubmit());
    } finally {
      this.form.waiting = false;
    }
  }

  #clearConflict() {
    if (!this.form) return;
    this.conflict.hidden = true;
    this.form.label("Save");
    this.form.message.clear();
  }

  // -- removing ------------------------------------------------------------------------------------------

  /** A lock says that the row matters: that costs one question. */
  #askToRemove() {
    const { revision, locked } = this.row;
    if (!locked) return this.#remove(revision);
    this.message.show("It is locked. Remove it all the same?", [
      ["Remove it", () => this.#remove(revision)],
      ["Keep it", () => this.#spare()],
    ]);
  }

  #spare() {
    this.message.clear();
    this.removeButton.focus();
  }

  /** Removes it as the agent suggests. @param {import("./preferences-client.js").Suggestion} suggestion */
  removeAsSuggested(suggestion) {
    this.#remove(this.row.revision, suggestion);
  }

  /** @param {number} revision that the person was looking at @param {import("./preferences-client.js").Suggestion} [suggestion] */
  async #remove(revision, suggestion) {
    if (!this.strip) this.#buildStrip();
    const held = this.element.contains(this.element.getRootNode().activeElement);
    this.message.clear();
    this.removal = 0;
    this.settled = performance.now() + SETTLE;
    this.#sayRemoved("Removing");
    this.face = "removed";
    this.#faces();
    if (held) this.undoButton.focus();
    try {
      const store = this.panel.store();
      const list = await (suggestion ? store.accept(suggestion) : store.remove(this.id, revision));
      this.removal = list.inferred ? 0 : list.revision;
      this.#sayGone("Removed");
      this.panel.announce(`Removed ${this.row.title}.`);
    } catch (error) {
      if (error.code === "not_found" && !this.panel.store().stored(this.id)) return this.#sayGone("Already removed:");
      const isTold = this.panel.failed(error, "Not removed");
      this.#turn("reading", this.removeButton);
      const { current } = error.problem;
      if (current) this.message.show("Not removed: it was changed just before.", [["Remove it all the same", () => this.#remove(current.revision)]]);
      else if (!isTold) this.message.show(`Not removed: ${error.message}.`, [["Try again", () => this.#remove(revision, suggestion)]]);
      error.arrived?.then(() => this.#confirmRemoval());
      this.panel.render();
    }
  }

  /** The answer to the removal was lost, and a later list shows that it was done, here or elsewhere. */
  #confirmRemoval() {
    if (this.face !== "reading") return;
    this.#turn("removed", this.undoButton);
    this.message.clear();
    this.#sayGone("Removed");
    this.panel.announce(`Removed ${this.row.title}.`);
  }

  #buildStrip() {
    this.stripWords = h("span", { class: "strip-words" });
    this.stripTitle = h("bdi", {});
    this.undoButton = h("button", { type: "button", class: "plain undo", part: "button undo", onclick: this.#pressed(() => this.#undoRemoval()) }, icon("undo"), "Undo");
    this.closeButton = h("button", { type: "button", class: "tool", "aria-label": "Dismiss", title: "Dismiss", onclick: this.#pressed(() => this.#dismiss()) }, icon("close"));
    this.stripMessage = new Message();
    this.strip = h(
      "div", { class: "strip", part: "removed" },
      h("p", {}, this.stripWords, " ", this.stripTitle), this.undoButton, this.closeButton, this.stripMessage.element,
    );
    this.element.append(this.strip);
  }

  #sayRemoved(words) {
    say(this.stripWords, words);
    say(this.stripTitle, this.row.title);
    // It holds focus from the start, and works as soon as the removal is acknowledged
    set(this.undoButton, "aria-disabled", this.removal ? null : "true");
    this.stripMessage.clear();
  }

  /** It is gone: if it is not known by which change, the history tells. */
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

  #pressed(action) {
    return () => performance.now() > this.settled && action();
  }

  async #undoRemoval() {
    if (this.undoing || this.undoButton.getAttribute("aria-disabled") === "true") return;
    this.undoing = true;
    this.stripMessage.show("Putting it back…", [], "calm");
    try {
      this.removal ||= await this.#findRemoval();
      await this.panel.store().undo(this.removal, ({ preferences }) => preferences.some((row) => row.id === this.id));
      this.panel.announce(`${this.row.title} is back.`);
    } catch (error) {
      this.stripMessage.clear();
      if (!this.panel.failed(error, "Not put back")) this.stripMessage.show(`Not put back: ${error.message}.`, [], "trouble", error.arrived);
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
 * Where a row comes from, told only where that is the agent: who and when, or null. A removal that is taken
 * back is the person's change of a row that still is the agent's.
 */
function origin(row) {
  if (row.updated_by === "agent") return [row.updated_at === row.created_at ? "added by the agent" : "changed by the agent", row.updated_at];
  return row.created_by === "agent" ? ["added by the agent", row.created_at] : null;
}
