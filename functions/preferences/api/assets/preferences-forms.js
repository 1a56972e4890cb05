/** The fields in which a person writes a preference: the same for a new one and for an edit in place. */
import { h, set, say } from "./dom.js";

/** @typedef {import("./preferences-client.js").Draft} Draft */

export const KINDS = { hard: "Must have", soft: "Nice to have" };
export const FIELDS = ["title", "subtitle", "kind"];
const LONGEST = { title: 120, subtitle: 500 };
const DOUBLE = 1000; // milliseconds within which a second press is no second wish

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
      "aria-label": "Title", placeholder: titleHint,
    });
    this.subtitle = h("textarea", {
      class: "field", part: "field", dir: "auto", rows: 1, "aria-label": "Detail, optional",
      placeholder: "Detail, if it needs one",
    });
    this.message = new Message();
    this.submit = h("button", { type: "submit", class: "solid", part: "button" }, submit);
    this.cancel = oncancel && h("button", { type: "button", class: "plain", onclick: oncancel }, "Cancel");
    this.element = h(
      "form", { class: "draft", part: "form", novalidate: true, onsubmit: (event) => this.#send(event, onsubmit) },
      this.title, this.subtitle,
      h("div", { class: "draft-foot" }, this.#kinds(), h("div", { class: "draft-ways" }, this.cancel || null, this.submit)),
      this.message.element,
    );
    this.element.addEventListener("input", () => this.#touched());
    this.element.addEventListener("keydown", (event) => this.#key(event, oncancel));
  }

  /** Enter sends from either field; with Shift it is a line break in the detail, which is stored as a space. */
  #key(event, oncancel) {
    const composing = event.isComposing || event.keyCode === 229; // Safari tells the end of a composition so
    if (event.key === "Escape" && !composing && oncancel) {
      event.preventDefault(); // used up here: a dialog around the panel stays open
      event.stopPropagation();
      return oncancel();
    }
    if (event.key !== "Enter" || ![this.title, this.subtitle].includes(event.target)) return;
    if (event.shiftKey && event.target === this.subtitle) return;
    event.preventDefault();
    if (!composing && !event.shiftKey && !event.repeat) this.element.requestSubmit();
  }

  #kinds() {
    const options = Object.entries(KINDS).map(([kind, words]) => {
      const radio = h("input", { type: "radio", name: "kind", value: kind, checked: kind === "soft" });
      this[kind] = radio;
      return h("label", { class: "kind-option" }, radio, h("span", { class: `mark mark-${kind}`, "aria-hidden": "true" }), words);
    });
    return h("fieldset", { class: "kinds" }, h("legend", { class: "unseen" }, "Kind"), ...options);
  }

  #send(event, onsubmit) {
    event.preventDefault();
    if (this.busy) return;
    const [field, fault] = this.#fault();
    this.message.clear();
    if (!fault) {
      this.#sent = performance.now();
      return onsubmit();
    }
    // The second click of a double click finds the fields empty, and means nothing
    if (this.isEmpty && performance.now() - this.#sent < DOUBLE) return;
    this.message.show(fault);
    this.#isFault = true;
    this.mark(field);
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
    this.message.show(`Not saved: ${error.message}.`, hopeless ? [] : [["Try again", again]], "trouble", error.arrived);
    this.#isFault = true;
    for (const { field } of error.problem?.errors ?? []) {
      const name = String(field).split(".").at(-1);
      if (name === "title" || name === "subtitle") this.mark(name);
    }
  }

  #fault() {
    const draft = this.read();
    if (!draft.title) return ["title", "It needs a few words."];
    for (const [field, most] of Object.entries(LONGEST)) {
      const length = [...(draft[field] ?? "").normalize("NFC")].length; // code points, as the service counts
      if (length > most) return [field, `At most ${most} characters; this has ${length}.`];
    }
    return [];
  }

  #touched() {
    if (this.#isFault) this.message.clear(); // what else is said here is no error, and stays
    this.#isFault = false;
    for (const field of [this.title, this.subtitle]) set(field, "aria-invalid", null);
  }

  /** @returns {Draft} */
  read() {
    return {
      title: this.title.value.trim(),
      subtitle: this.subtitle.value.trim() || null,
      kind: this.hard.checked ? "hard" : "soft",
    };
  }

  /** Writes only what differs, so that a caret in an untouched field stays where it is. @param {Draft} draft */
  write(draft) {
    const now = this.read();
    if (now.title !== draft.title) this.title.value = draft.title;
    if (now.subtitle !== (draft.subtitle ?? null)) this.subtitle.value = draft.subtitle ?? "";
    this[draft.kind].checked = true;
  }

  label(words) {
    say(this.submit, words);
  }

  /** While an answer is awaited the text stays, unchangeable, and nothing can be sent a second time. */
  set waiting(waiting) {
    this.busy = waiting;
    set(this.submit, "aria-disabled", waiting ? "true" : null);
    this.title.readOnly = this.subtitle.readOnly = waiting;
  }
}

/** The attributes in which two drafts differ, with the second one's values. */
export function difference(before, after) {
  const fields = FIELDS.filter((field) => (before[field] ?? null) !== (after[field] ?? null));
  return Object.fromEntries(fields.map((field) => [field, after[field]]));
}
