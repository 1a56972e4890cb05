/** The conversation's history: who changed what, the agent's reason, and a way back from each change. */
import { h, set, say, icon, tell, arrange } from "./dom.js";
import { Message, KINDS } from "./preferences-forms.js";
import { has } from "./preferences-store.js";

/** The history is written from the table's stream, a moment after the change: how often, and when, to look again. */
const LOOK_AGAIN = { times: 6, after: 700 };

const NAMES = { title: "title", subtitle: "detail", kind: "kind" };

export class HistoryView {
  #entries = new Map(); // revision → {element, entry, …}; an entry never changes once written
  #cursor = null;
  #reads = 0; // tells the newest read from one that was overtaken
  #timer = 0;

  /** @param {import("./preferences-row.js").Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.shown = false;
    this.loaded = false;
    this.list = h("ol", { class: "entries", role: "list" });
    this.message = new Message();
    this.empty = h("p", { class: "empty", role: "status" }, "Loading…");
    this.more = h("button", { type: "button", class: "plain more", hidden: true, onclick: () => this.#older() }, "Show older changes");
    this.element = h("div", { class: "history", part: "history" }, this.message.element, this.list, this.empty, this.more);
  }

  show(shown) {
    this.shown = shown;
    if (!shown) return clearTimeout(this.#timer);
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
    if (!this.shown || !this.panel.store()) return;
    clearTimeout(this.#timer);
    const read = ++this.#reads;
    try {
      const { entries, next } = await this.panel.store().history();
      if (read !== this.#reads) return;
      const known = this.#entries.size > 0 && entries.some((entry) => this.#entries.has(entry.revision));
      if (!known) this.#cursor = next; // the first page, or so much is new that the pages do not join
      this.loaded = true;
      this.#take(entries, !known);
      this.message.clear();
      const behind = (entries[0]?.revision ?? 0) < this.panel.store().revision;
      if (behind && tries > 1) this.#timer = setTimeout(() => this.refresh(tries - 1), LOOK_AGAIN.after);
    } catch (error) {
      if (read !== this.#reads) return;
      this.empty.hidden = true;
      if (this.panel.failed(error, "History not read")) return;
      this.message.show(`The history could not be read: ${error.message}.`, [["Try again", () => this.refresh()]]);
    }
  }

  async #older() {
    set(this.more, "aria-disabled", "true");
    try {
      const { entries, next } = await this.panel.store().history(this.#cursor);
      this.#cursor = next;
      this.#take(entries, false);
    } catch (error) {
      this.panel.failed(error, "History not read");
      this.message.show(`Older changes could not be read: ${error.message}.`);
    } finally {
      set(this.more, "aria-disabled", null);
    }
  }

  #take(entries, afresh) {
    if (afresh) this.#entries.clear();
    for (const entry of entries) {
      if (!this.#entries.has(entry.revision)) this.#entries.set(entry.revision, this.#entry(entry));
    }
    const newestFirst = [...this.#entries.keys()].sort((one, other) => other - one);
    arrange(this.list, newestFirst.map((revision) => this.#entries.get(revision)));
    this.empty.hidden = newestFirst.length > 0;
    say(this.empty, this.loaded ? "Nothing has changed yet." : "Loading…");
    this.more.hidden = !this.#cursor;
  }

  /** @param {import("./preferences-client.js").Entry} entry */
  #entry(entry) {
    const when = h("time", {});
    tell(when, entry.at);
    const message = new Message();
    const undo = h(
      "button", { type: "button", class: "plain undo", part: "button undo", "aria-label": `Undo: ${entry.summary}` },
      icon("undo"), "Undo",
    );
    undo.addEventListener("click", () => this.#undo(entry, undo, message));
    return h(
      "li", { class: "entry", part: "entry", "data-actor": entry.actor },
      h("p", { class: "summary", dir: "auto" }, entry.summary),
      changesOf(entry),
      entry.reasoning && h("blockquote", { class: "reason", dir: "auto" }, entry.reasoning),
      h("p", { class: "meta" }, when),
      entry.changes.length > 0 && undo, // a list's beginning is not to be taken back
      message.element,
    );
  }

  async #undo(entry, button, message) {
    if (button.getAttribute("aria-disabled") === "true") return;
    set(button, "aria-disabled", "true");
    message.clear();
    try {
      await this.panel.store().undo(entry.revision, (list) => isTakenBack(list, entry));
      this.panel.announce(`Undone: ${entry.summary}`);
    } catch (error) {
      this.panel.failed(error, "Not undone");
      const reasons = error.problem.conflicts?.map((conflict) => `${conflict.title}: ${conflict.reason}`);
      message.show(`Not undone: ${reasons?.length ? reasons.join("; ") : error.message}.`, [], "trouble", error.arrived);
    } finally {
      set(button, "aria-disabled", null);
    }
  }
}

/** Whether the list is as it was before that change, as far as that can be seen: a mere move can't. */
function isTakenBack({ preferences }, { changes }) {
  const isSeen = changes.some(({ before, after }) => !before || !after || Object.keys(before).some((name) => name !== "rank"));
  return isSeen && changes.every(({ id, before }) => {
    const row = preferences.find((each) => each.id === id);
    if (!before) return !row;
    const values = { ...before };
    delete values.rank;
    return has(row, values);
  });
}

/** The words that an edit changed, as far as the summary does not hold them: it says more of one row than of many. */
function changesOf({ changes }) {
  const edits = changes.filter((change) => change.before && change.after);
  const names = changes.length === 1 ? ["subtitle"] : Object.keys(NAMES);
  const lines = edits.flatMap(({ title, before, after }) =>
    names.filter((name) => name in after).map((name) => line(changes.length > 1 && title, name, before[name], after[name])),
  );
  return lines.length > 0 && h("ul", { class: "changes", role: "list" }, ...lines);
}

function line(title, name, before, after) {
  const value = (words) => h("bdi", {}, (name === "kind" ? KINDS[words] : words) ?? "none");
  return h(
    "li", {}, title && h("bdi", {}, title), title && ", ", h("span", { class: "change-name" }, NAMES[name]), " ",
    h("del", {}, h("span", { class: "unseen" }, "from "), value(before)), " ",
    h("ins", {}, h("span", { class: "unseen" }, "to "), value(after)),
  );
}
