/**
 * What the agent would have done, had a lock or a removal not stood against it: shown to the person, who
 * accepts it, edits it, or turns it down. A suggestion never changes, so accepting does what is shown.
 *
 * The reasoning is a stranger's words. It is quoted as plain text, and stands in no label and no announcement:
 * those say what will be stored.
 */
import { h, set, say, tell } from "./dom.js";
import { DraftForm, Message, FIELDS } from "./preferences-forms.js";
import { t } from "./preferences-texts.js";

/** @typedef {import("./preferences-client.js").Suggestion} Suggestion */
/** @typedef {import("./preferences-client.js").Draft} Draft */

/** What the row is a part of the page for: how its suggestion is put to the person. */
export class SuggestionView {
  /** @type {DraftForm} of an addition that is edited; built when first needed */ form;

  /** @param {Suggestion} suggestion @param {import("./preferences-row.js").Panel} panel */
  constructor(suggestion, panel) {
    this.suggestion = suggestion;
    this.panel = panel;
    this.writing = false; // whether an addition is being edited
    const { action, before, after, reasoning, at } = suggestion;
    const when = h("time", {});
    tell(when, at);
    this.message = new Message();
    this.pendingWord = h("span", { class: "suggestion-pending", hidden: true });
    this.acceptButton = this.#button(t.acceptNamed(outcome(suggestion)), t.accept, () => this.accept());
    this.editButton = this.#button(t.editSuggested((after ?? before)?.title ?? ""), t.edit, () => this.#edit());
    this.dismissButton = this.#button(t.dismissNamed(outcome(suggestion)), t.turnDown, () => this.#dismiss());
    this.ways = h("div", { class: "suggestion-ways" }, this.acceptButton, this.editButton, this.dismissButton);
    this.element = h(
      action === "add" ? "li" : "div",
      { class: "suggestion", part: "suggestion", "data-action": action },
      this.group = h(
        "div", { class: "suggestion-group", role: "group", "aria-label": t.suggestion, tabindex: -1 },
        h("p", { class: "suggestion-lead" }, t.suggestionLeads[action]),
        ...wording(suggestion),
        reasoning && h("blockquote", { class: "reason", dir: "auto" }, `“${reasoning}”`),
        h("p", { class: "meta" }, when, this.pendingWord),
        this.ways, this.message.element,
      ),
    );
  }

  /** Whether it stays on the page although it waits no longer: a person is writing in it. */
  get lingers() {
    return this.writing;
  }

  /** @param {string} name @param {string} words @param {() => void} onclick */
  #button(name, words, onclick) {
    const press = (/** @type {MouseEvent} */ { currentTarget }) => /** @type {Element} */ (currentTarget).getAttribute("aria-disabled") !== "true" && onclick();
    return h("button", { type: "button", class: "plain", part: "button", "aria-label": name, onclick: press }, words);
  }

  /** @param {boolean} waits whether its answer is on the way */
  show(waits) {
    say(this.pendingWord, waits ? t.pending.Saving : "");
    this.pendingWord.hidden = !waits;
    for (const button of [this.acceptButton, this.editButton, this.dismissButton]) set(button, "aria-disabled", waits ? "true" : null);
  }

  focus() {
    this.element.scrollIntoView({ block: "nearest" });
    this.group.focus();
  }

  async accept() {
    const { suggestion, panel } = this;
    if (suggestion.action === "remove") return panel.removeAsSuggested(suggestion);
    this.message.clear();
    try {
      await panel.store().accept(suggestion);
      panel.announce(t.accepted(outcome(suggestion)));
    } catch (caught) {
      const error = /** @type {import("./preferences-client.js").RequestError} */ (caught);
      this.refuse(error, t.notAccepted, () => this.accept());
    }
  }

  async #dismiss() {
    this.message.clear();
    try {
      await this.panel.store().dismiss(this.suggestion.id);
      this.panel.announce(t.dismissed);
    } catch (caught) {
      const error = /** @type {import("./preferences-client.js").RequestError} */ (caught);
      this.refuse(error, t.notDismissed, () => this.#dismiss());
    }
  }

  /** @param {any} error a RequestError @param {string} doing @param {() => void} again */
  refuse(error, doing, again) {
    if (this.panel.failed(error, doing)) return;
    // It is gone from the list too, with the view that could say so
    if (error.code === "not_found") return this.panel.announce(t.suggestionGone);
    const hopeless = ["list_full", "duplicate"].includes(error.code);
    this.message.show(t.failed(doing, error.message), hopeless ? [] : [[t.tryAgain, again]], "trouble", error.arrived);
  }

  // -- editing -------------------------------------------------------------------------------------------

  #edit() {
    const { action, preference_id: id, after } = this.suggestion;
    if (action !== "add" || !after) return this.panel.write(id ?? "", after);
    if (!this.form) this.#buildForm();
    this.form.write(after);
    this.#turn(true);
    return this.form.title.focus();
  }

  #buildForm() {
    this.form = new DraftForm({ titleHint: t.title, submit: t.add, onsubmit: () => this.#add(), oncancel: () => this.#stopWriting() });
    this.group.append(this.form.element);
  }

  /** @param {boolean} writing */
  #turn(writing) {
    this.writing = writing;
    this.form.element.hidden = !writing;
    this.ways.hidden = writing;
  }

  #stopWriting() {
    this.#turn(false);
    this.editButton.focus();
    this.panel.render();
  }

  /** Adds what the person made of it, and lets the suggestion go: it has been answered. */
  async #add() {
    const draft = this.form.read();
    const { id, after } = this.suggestion;
    if (FIELDS.every((field) => draft[field] === after?.[field])) {
      this.#stopWriting();
      return this.accept();
    }
    this.form.waiting = true;
    try {
      await this.panel.store().add(draft);
      this.panel.announce(t.addedOne(draft.title));
      this.#turn(false);
      await this.panel.store().dismiss(id);
    } catch (caught) {
      const error = /** @type {import("./preferences-client.js").RequestError} */ (caught);
      if (!this.writing) this.refuse(error, t.notDismissed, () => this.#dismiss());
      else if (!this.panel.failed(error, t.notSaved)) this.form.refuse(error, () => this.form.element.requestSubmit());
    } finally {
      this.form.waiting = false;
      this.panel.render();
    }
  }
}

/** What accepting stores, for a label. @param {Suggestion} suggestion */
function outcome({ action, before, after }) {
  if (action === "remove") return t.toRemove(before?.title ?? "");
  return action === "add" ? t.toAdd(inWords(after)) : t.toChange(before?.title ?? "", inWords(after));
}

/** @param {Draft|null} draft */
function inWords(draft) {
  return draft ? [draft.title, draft.subtitle, t.kindsInside[draft.kind]].filter(Boolean).join(", ") : "";
}

/** What would be, beside what is. @param {Suggestion} suggestion */
function wording({ action, before, after }) {
  /** @param {"del"|"ins"} tag @param {string} prefix @param {string} words */
  const value = (tag, prefix, words) => h(tag, {}, h("span", { class: "unseen" }, prefix), h("bdi", {}, words));
  if (action === "remove") return [h("p", { class: "suggested" }, value("del", "", before?.title ?? ""))];
  if (!after) return [];
  if (action === "add" || !before) {
    return [h("p", { class: "suggested" }, h("bdi", {}, after.title)), after.subtitle && h("p", { class: "subtitle", dir: "auto" }, after.subtitle), h("p", { class: "meta" }, t.kinds[after.kind])];
  }
  /** @param {keyof Draft} field @param {Draft} draft */
  const shown = (field, draft) => (field === "kind" ? t.kinds[draft.kind] : draft[field] || t.noDetail);
  return FIELDS.filter((field) => before[field] !== after[field]).map((field) =>
    h("p", { class: "suggested" }, value("del", t.from, shown(field, before)), h("span", { class: "arrow", "aria-hidden": "true" }, "→"), " ", value("ins", t.to, shown(field, after))));
}
