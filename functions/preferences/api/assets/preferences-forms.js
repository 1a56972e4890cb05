/** The fields in which a person writes a preference: the same for a new one and for an edit in place. */
import { h, set, say } from "./dom.js";
import { t } from "./preferences-texts.js";

/** @typedef {import("./preferences-client.js").Draft} Draft */

/** @typedef {import("./preferences-client.js").Kind} Kind */

/** @type {Array<keyof Draft>} */
export const FIELDS = ["title", "subtitle", "kind"];
export const LONGEST_TITLE = 120;
/** @type {Array<["title"|"subtitle", number]>} */
const LONGEST = [["title", LONGEST_TITLE], ["subtitle", 500]];
export const SCARCE = 0.75; // of what a field may hold: from here on it shows how much it holds
const DOUBLE = 1000; // milliseconds within which a second press is no second wish

let counters = 0; // names them: there is one form for each row that is edited

/** The code points of a text as it is stored, as the service counts them. @param {string|null|undefined} text */
export const lengthOf = (text) => [...(text ?? "").normalize("NFC")].length;

/** Whether the key belongs to a composition. Safari tells the end of one by its code. @param {KeyboardEvent} event */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** A line for what went wrong, or is under way, with a button where there is a way on. */
export class Message {
  constructor() {
    this.element = h("div", { class: "message" });
  }

  /**
   * Announced as it is put in: at once for trouble, politely otherwise.
   * @param {string} text
   * @param {Array<[string, () => void]>} ways labels and what they do
   * @param {"trouble"|"calm"} tone
   * @param {Promise<unknown>} [until] when it comes about, there is nothing to tell any more
   */
  show(text, ways = [], tone = "trouble", until) {
    const buttons = ways.map(([label, way]) => h("button", { type: "button", class: "plain", onclick: way }, label));
    const role = tone === "trouble" ? "alert" : "status";
    const body = h("div", { class: "message-body", part: "message", role, "data-tone": tone }, h("span", {}, text), ...buttons);
    this.element.replaceChildren(body);
    until?.then(() => body.isConnected && this.clear());
  }

  clear() {
    if (this.element.firstChild) this.element.replaceChildren();
  }
}

export class DraftForm {
  #isFault = false; // whether the message tells an error of what was written
  #sent = -Infinity; // when it was last sent

  /**
   * @param {{titleHint: string, submit: string, onsubmit: () => void, oncancel?: () => void}} options
   */
  constructor({ titleHint, submit, onsubmit, oncancel }) {
    this.title = h("input", {
      type: "text", class: "field", part: "field", dir: "auto", autocomplete: "off", enterkeyhint: "done",
      "aria-label": t.title, placeholder: titleHint,
    });
    this.subtitle = h("textarea", {
      class: "field", part: "field", dir: "auto", rows: 1, "aria-label": t.detail,
      placeholder: t.detailHint,
    });
    this.counters = { title: this.#counter("title"), subtitle: this.#counter("subtitle") };
    this.kinds = { hard: this.#kind("hard"), soft: this.#kind("soft") };
    this.message = new Message();
    this.submit = h("button", { type: "submit", class: "solid", part: "button" }, submit);
    this.cancel = oncancel && h("button", { type: "button", class: "plain", onclick: oncancel }, t.cancel);
    this.element = h(
      "form", { class: "draft", part: "form", novalidate: true, onsubmit: (event) => this.#send(event, onsubmit) },
      this.title, this.counters.title, this.subtitle, this.counters.subtitle,
      h("div", { class: "draft-foot" }, this.#kinds(), h("div", { class: "draft-ways" }, this.cancel || null, this.submit)),
      this.message.element,
    );
    this.element.addEventListener("input", () => this.#touched());
    this.element.addEventListener("keydown", (event) => this.#key(event, oncancel));
  }

  /** @param {"title"|"subtitle"} field */
  #counter(field) {
    const counter = h("p", { class: "counter", id: `counter-${++counters}`, hidden: true });
    set(this[field], "aria-describedby", counter.id);
    return counter;
  }

  #count() {
    const draft = this.read();
    for (const [field, most] of LONGEST) {
      const length = lengthOf(draft[field]);
      say(this.counters[field], `${length}/${most}`);
      this.counters[field].hidden = length < most * SCARCE;
    }
  }

  /**
   * Enter sends from either field; with Shift it is a line break in the detail, which is stored as a space.
   * @param {KeyboardEvent} event
   * @param {(() => void)|undefined} oncancel
   */
  #key(event, oncancel) {
    const composing = isComposing(event);
    if (event.key === "Escape" && !composing && oncancel) {
      event.preventDefault(); // used up here: a dialog around the panel stays open
      event.stopPropagation();
      return oncancel();
    }
    if (event.key !== "Enter" || (event.target !== this.title && event.target !== this.subtitle)) return;
    if (event.shiftKey && event.target === this.subtitle) return;
    event.preventDefault();
    if (!composing && !event.shiftKey && !event.repeat) this.element.requestSubmit();
  }

  /** @param {Kind} kind */
  #kind(kind) {
    return h("input", { type: "radio", name: "kind", value: kind, checked: kind === "soft" });
  }

  #kinds() {
    const options = Object.entries(this.kinds).map(([kind, radio]) =>
      h("label", { class: "kind-option" }, radio, h("span", { class: `mark mark-${kind}`, "aria-hidden": "true" }), t.kinds[/** @type {Kind} */ (kind)]),
    );
    return h("fieldset", { class: "kinds" }, h("legend", { class: "unseen" }, t.kind), ...options);
  }

  /** @param {SubmitEvent} event @param {() => void} onsubmit */
  #send(event, onsubmit) {
    event.preventDefault();
    if (this.busy) return;
    const fault = this.#fault();
    this.message.clear();
    if (!fault) {
      this.#sent = performance.now();
      return onsubmit();
    }
    // The second click of a double click finds the fields empty, and means nothing
    if (this.isEmpty && performance.now() - this.#sent < DOUBLE) return;
    this.message.show(fault.words);
    this.#isFault = true;
    this.mark(fault.field);
  }

  /** Shows that the fault lies in this field, and goes there. @param {"title"|"subtitle"} field */
  mark(field) {
    set(this[field], "aria-invalid", "true");
    this[field].focus();
  }

  get isEmpty() {
    const { title, subtitle } = this.read();
    return !title && !subtitle;
  }

  /**
   * Tells why the service did not take it, marks the fields that it names, and offers what may help.
   * @param {any} error a RequestError
   * @param {() => void} again
   */
  refuse(error, again) {
    const hopeless = ["list_full", "invalid_input"].includes(error.code); // the same once more is refused once more
    this.message.show(t.failed(t.notSaved, error.message), hopeless ? [] : [[t.tryAgain, again]], "trouble", error.arrived);
    this.#isFault = true;
    for (const { field } of error.problem?.errors ?? []) {
      const name = String(field).split(".").at(-1);
      if (name === "title" || name === "subtitle") this.mark(name);
    }
  }

  /** @returns {{field: "title"|"subtitle", words: string}|null} what is wrong, and where */
  #fault() {
    const draft = this.read();
    if (!draft.title) return { field: "title", words: t.empties };
    for (const [field, most] of LONGEST) {
      const length = lengthOf(draft[field]);
      if (length > most) return { field, words: t.tooLong(most, length) };
    }
    return null;
  }

  #touched() {
    this.#count();
    if (this.#isFault) this.message.clear(); // what else is said here is no error, and stays
    this.#isFault = false;
    for (const field of [this.title, this.subtitle]) set(field, "aria-invalid", null);
  }

  /** @returns {Draft} */
  read() {
    return {
      title: this.title.value.trim(),
      subtitle: this.subtitle.value.trim() || null,
      kind: this.kinds.hard.checked ? "hard" : "soft",
    };
  }

  /** Writes only what differs, so that a caret in an untouched field stays where it is. @param {Draft} draft */
  write(draft) {
    const now = this.read();
    if (now.title !== draft.title) this.title.value = draft.title;
    if (now.subtitle !== (draft.subtitle ?? null)) this.subtitle.value = draft.subtitle ?? "";
    this.kinds[draft.kind].checked = true;
    this.#count();
  }

  /** @param {string} words */
  label(words) {
    say(this.submit, words);
  }

  /**
   * While an answer is awaited the text stays, unchangeable, and nothing can be sent a second time.
   * @param {boolean} waiting
   */
  set waiting(waiting) {
    this.busy = waiting;
    set(this.submit, "aria-disabled", waiting ? "true" : null);
    this.title.readOnly = this.subtitle.readOnly = waiting;
  }
}

/**
 * The attributes in which two drafts differ, with the second one's values.
 * @param {Draft} before
 * @param {Draft} after
 * @returns {Partial<Draft>}
 */
export function difference(before, after) {
  const fields = FIELDS.filter((field) => (before[field] ?? null) !== (after[field] ?? null));
  return Object.fromEntries(fields.map((field) => [field, after[field]]));
}
