/** The name of the open conversation: the person gives it in place, beside the list of conversations. */
import { h, icon, say, set } from "./dom.js";
import { PreferencesClient, RequestError } from "./preferences-client.js";
import { Drafts } from "./preferences-drafts.js";
import { LONGEST_TITLE, SCARCE, isComposing, lengthOf } from "./preferences-forms.js";
import { t } from "./preferences-texts.js";

export class ConversationName {
  /** The open conversation, and its name as it is stored. */
  #thread = "";
  #name = "";
  #waiting = false;
  /** What the person has written and not stored, also over another conversation or a sign-in. @type {Drafts} */
  #draft;

  /**
   * `ask` gives an access token, `named` is told what is stored now, `expired` that a sign-in is needed.
   * @param {{ask: () => Promise<string|null>, named: (thread: string, name: string|null) => void, expired: () => void}} page
   */
  constructor(page) {
    this.page = page;
    this.button = h("button", { type: "button", class: "icon-button", onclick: () => this.#open(this.#name) }, icon("edit"));
    this.counter = h("span", { class: "counter", id: "name-counter", hidden: true });
    this.fault = h("p", { class: "fault", id: "name-fault", role: "alert" });
    this.field = h("input", {
      type: "text", dir: "auto", autocomplete: "off", enterkeyhint: "done", "aria-label": t.conversationName,
      placeholder: t.conversationHint, "aria-describedby": `${this.counter.id} ${this.fault.id}`,
    });
    this.save = h("button", { type: "submit" }, t.save);
    this.form = h(
      "form", { class: "naming", hidden: true, novalidate: true, onsubmit: (event) => this.#send(event), onkeydown: (event) => this.#key(event) },
      h("span", { class: "naming-field" }, this.field, this.counter),
      this.save,
      h("button", { type: "button", onclick: () => this.#giveUp() }, t.cancel),
      this.fault,
    );
    this.form.addEventListener("input", () => this.#touched());
    this.said = h("span", { class: "unseen", role: "status" });
  }

  /**
   * Another conversation is open. A name for it that the person began is in the field again.
   * @param {string} thread @param {string|null} name @param {string} who the person's `sub`
   */
  begin(thread, name, who) {
    this.#thread = thread;
    this.#name = name ?? "";
    this.#draft = new Drafts(`name of ${thread}`);
    this.#draft.begin(who);
    this.#close();
    const begun = this.#draft.read().composer?.title;
    if (begun) this.#show(begun);
  }

  /** @param {string} text */
  #open(text) {
    this.#show(text);
    this.field.focus();
    this.field.select();
  }

  /** @param {string} text */
  #show(text) {
    this.field.value = text;
    this.form.hidden = false;
    this.#touched();
  }

  #close() {
    this.form.hidden = true;
    this.#wait(false);
    const label = this.#name ? t.renameIt : t.nameIt;
    set(this.button, "aria-label", label);
    set(this.button, "title", label);
  }

  #giveUp() {
    this.#keep("");
    this.#close();
    this.button.focus();
  }

  /** @param {string} text */
  #keep(text) {
    this.#draft.keep({ composer: text && text !== this.#name ? { title: text, subtitle: null, kind: "soft" } : null });
  }

  #touched() {
    const length = lengthOf(this.field.value.trim());
    say(this.counter, `${length}/${LONGEST_TITLE}`);
    this.counter.hidden = length < LONGEST_TITLE * SCARCE;
    this.#tell("");
    this.#keep(this.field.value.trim());
  }

  /** @param {string} words what is wrong; "" nothing */
  #tell(words) {
    say(this.fault, words);
    set(this.field, "aria-invalid", words ? "true" : null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const composing = isComposing(event);
    if (event.key === "Escape" && !composing) {
      event.preventDefault();
      this.#giveUp();
    } else if (event.key === "Enter" && event.target === this.field && (composing || event.shiftKey || event.repeat)) {
      event.preventDefault(); // it sends nothing
    }
  }

  /** @param {SubmitEvent} event */
  async #send(event) {
    event.preventDefault();
    if (this.#waiting) return;
    const thread = this.#thread;
    const text = this.field.value.trim();
    const length = lengthOf(text);
    if (text === this.#name) return this.#giveUp();
    if (length > LONGEST_TITLE) {
      this.field.focus();
      return this.#tell(t.tooLong(LONGEST_TITLE, length));
    }
    const draft = this.#draft;
    this.#wait(true);
    try {
      const name = await new PreferencesClient("", thread, this.page.ask).rename(text || null);
      draft.keep({ composer: null });
      this.page.named(thread, name);
      if (thread === this.#thread) this.#stored(name ?? "");
    } catch (error) {
      if (thread === this.#thread) this.#failed(/** @type {Error} */ (error));
    }
  }

  /** @param {string} name */
  #stored(name) {
    const hasFocus = this.form.contains(document.activeElement);
    this.#name = name;
    this.#close();
    say(this.said, name ? t.nowNamed(name) : t.nameTaken);
    if (hasFocus) this.button.focus();
  }

  /** The text stays in the field. @param {Error} error */
  #failed(error) {
    this.#wait(false);
    this.#tell(t.failed(t.notSaved, error.message));
    this.field.focus();
    if (error instanceof RequestError && error.code === "unauthorized") this.page.expired();
  }

  /** @param {boolean} waiting */
  #wait(waiting) {
    this.#waiting = waiting;
    this.field.readOnly = waiting;
    set(this.save, "aria-disabled", waiting ? "true" : null);
    if (waiting) this.#tell("");
  }
}
