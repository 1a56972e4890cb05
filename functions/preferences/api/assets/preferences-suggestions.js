/**
 * What the agent would have done, had a lock or a removal not stood against it: shown to the person, who
 * accepts it, edits it, or turns it down. A suggestion never changes, so accepting does what is shown.
 *
 * The reasoning is a stranger's words. It is quoted as plain text, and stands in no label and no announcement:
 * those say what will be stored.
 */
import { h, set, say, tell } from "./dom.js";
import { DraftForm, Message, KINDS, FIELDS } from "./preferences-forms.js";

/** @typedef {import("./preferences-client.js").Suggestion} Suggestion */
/** @typedef {import("./preferences-client.js").Draft} Draft */

const LEADS = { add: "The agent suggests to add", edit: "The agent suggests", remove: "The agent suggests to remove" };

/** What the row is a part of the page for: how its suggestion is put to the person. */
export class SuggestionView {
  /** @param {Suggestion} suggestion @param {import("./preferences-row.js").Panel} panel */
  constructor(suggestion, panel) {
    this.suggestion = suggestion;
    this.panel = panel;
    this.writing = false; // whether an addition is being edited
    this.#build();
  }

  /** Whether it stays on the page although it waits no longer: a person is writing in it. */
  get lingers() {
    return this.writing;
  }

  #build() {
    const { action, before, after, reasoning, at } = this.suggestion;
    const when = h("time", {});
    tell(when, at);
    this.message = new Message();
    this.pendingWord = h("span", { class: "suggestion-pending", hidden: true });
    this.acceptButton = this.#button(`Accept: ${outcome(this.suggestion)}`, "Accept", () => this.accept());
    this.editButton = this.#button(`Edit ${(after ?? before)?.title}, as suggested`, "Edit", () => this.#edit());
    this.dismissButton = this.#button(`Dismiss the suggestion: ${outcome(this.suggestion)}`, "Dismiss", () => this.#dismiss());
    this.ways = h("div", { class: "suggestion-ways" }, this.acceptButton, this.editButton, this.dismissButton);
    this.element = h(
      action === "add" ? "li" : "div",
      { class: "suggestion", part: "suggestion", "data-action": action },
      this.group = h(
        "div", { class: "suggestion-group", role: "group", "aria-label": "The agent's suggestion", tabindex: -1 },
        h("p", { class: "suggestion-lead" }, LEADS[action]),
        ...wording(this.suggestion),
        reasoning && h("blockquote", { class: "reason", dir: "auto" }, `“${reasoning}”`),
        h("p", { class: "meta" }, when, this.pendingWord),
        this.ways, this.message.element,
      ),
    );
  }

  #button(name, words, onclick) {
    const press = (event) => event.currentTarget.getAttribute("aria-disabled") !== "true" && onclick();
    return h("button", { type: "button", class: "plain", part: "button", "aria-label": name, onclick: press }, words);
  }

  /** @param {boolean} waits whether its answer is on the way */
  show(waits) {
    say(this.pendingWord, waits ? "Saving…" : "");
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
      panel.announce(`Accepted: ${outcome(suggestion)}.`);
    } catch (error) {
      this.refuse(error, "Not accepted", () => this.accept());
    }
  }

  async #dismiss() {
    this.message.clear();
    try {
      await this.panel.store().dismiss(this.suggestion.id);
      this.panel.announce("Suggestion dismissed.");
    } catch (error) {
      this.refuse(error, "Not dismissed", () => this.#dismiss());
    }
  }

  /** @param {any} error a RequestError @param {string} doing @param {() => void} again */
  refuse(error, doing, again) {
    if (this.panel.failed(error, doing)) return;
    // It is gone from the list too, with the view that could say so
    if (error.code === "not_found") return this.panel.announce("That suggestion waits no longer.");
    const hopeless = ["list_full", "duplicate"].includes(error.code);
    this.message.show(`${doing}: ${error.message}.`, hopeless ? [] : [["Try again", again]], "trouble", error.arrived);
  }

  // -- editing -------------------------------------------------------------------------------------------

  #edit() {
    const { action, preference_id: id, after } = this.suggestion;
    if (action !== "add") return this.panel.write(id, after);
    if (!this.form) this.#buildForm();
    this.form.write(after);
    this.#turn(true);
    this.form.title.focus();
  }

  #buildForm() {
    this.form = new DraftForm({ titleHint: "Title", submit: "Add", onsubmit: () => this.#add(), oncancel: () => this.#stopWriting() });
    this.group.append(this.form.element);
  }

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
    if (FIELDS.every((field) => draft[field] === after[field])) {
      this.#stopWriting();
      return this.accept();
    }
    this.form.waiting = true;
    try {
      await this.panel.store().add(draft);
      this.panel.announce(`Added: ${draft.title}.`);
      this.#turn(false);
      await this.panel.store().dismiss(id);
    } catch (error) {
      if (!this.writing) this.refuse(error, "Not dismissed", () => this.#dismiss());
      else if (!this.panel.failed(error, "Not saved")) this.form.refuse(error, () => this.form.element.requestSubmit());
    } finally {
      this.form.waiting = false;
      this.panel.render();
    }
  }
}

/** What accepting stores, for a label. @param {Suggestion} suggestion */
function outcome({ action, before, after }) {
  if (action === "remove") return `remove ${before.title}`;
  if (action === "add") return `add ${inWords(after)}`;
  return `change ${before.title} to ${inWords(after)}`;
}

/** @param {Draft} draft */
function inWords({ title, subtitle, kind }) {
  return [title, subtitle, KINDS[kind].toLowerCase()].filter(Boolean).join(", ");
}

/** What would be, beside what is. @param {Suggestion} suggestion */
function wording({ action, before, after }) {
  const value = (tag, prefix, words) => h(tag, {}, h("span", { class: "unseen" }, prefix), h("bdi", {}, words));
  if (action === "remove") return [h("p", { class: "suggested" }, value("del", "", before.title))];
  if (action === "add") {
    return [h("p", { class: "suggested" }, h("bdi", {}, after.title)), after.subtitle && h("p", { class: "subtitle", dir: "auto" }, after.subtitle), h("p", { class: "meta" }, KINDS[after.kind])];
  }
  const shown = (field, draft) => (field === "kind" ? KINDS[draft.kind] : draft[field] || "no detail");
  return FIELDS.filter((field) => before[field] !== after[field]).map((field) =>
    h("p", { class: "suggested" }, value("del", "from ", shown(field, before)), h("span", { class: "arrow", "aria-hidden": "true" }, "→"), " ", value("ins", "to ", shown(field, after))));
}
