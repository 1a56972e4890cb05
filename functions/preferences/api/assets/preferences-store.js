/**
 * What the panel knows of one conversation.
 *
 *     shown = the newest list the server sent + the person's changes that it has not answered yet
 *
 * Changes are sent one after the other, each as an *operation* that also says how the list looks with it.
 * When its answer comes, the operation goes: with the server's list where it was taken, without a trace
 * where it was not. So the server's word wins by itself, and a failure rolls back by itself.
 *
 * A poll's answer counts only if no local change began or ended since the poll was sent, and no list counts
 * that is older than the one in hand: thread revisions never go back.
 */
import { RequestError } from "./preferences-client.js";

/** @typedef {import("./preferences-client.js").Row} Row */

/** Milliseconds. Lively for a minute after the opening and each change: that is when the next one is likely. */
const POLL = { lively: 2_000, calm: 5_000, longest: 60_000, livelyFor: 60_000 };
const FRESH_FOR = 45_000;
const TRIES = 4;

/**
 * Fires `list` ({detail: {before, after, operation}}) when the server's list moved on, `change` whenever
 * something to show changed, `trouble` ({detail: RequestError|null}) when polling fails and when it works again.
 */
export class PreferencesStore extends EventTarget {
  #client;
  #list = null;
  #operations = [];
  #sending = false;
  #epoch = 0; // counts beginnings and ends of local changes
  #poll = null; // the AbortController of the poll in flight
  #timer = 0;
  #failures = 0;
  #lastChange = 0;
  #awake = false;
  #added = 0; // names rows that have no id yet
  #fresh = new Map(); // row id → {word, until}: what the agent has just done

  /** @param {import("./preferences-client.js").PreferencesClient} client */
  constructor(client) {
    super();
    this.#client = client;
  }

  /** @type {RequestError|null} why the last poll failed */
  trouble = null;

  get loaded() {
    return this.#list !== null;
  }

  get revision() {
    return this.#list?.revision ?? 0;
  }

  /** The rows as shown: numbered, each with `pending` (a word, or null) and `fresh` ("new", "changed", null). */
  get rows() {
    const stored = (this.#list?.preferences ?? []).map((row) => ({ ...row, pending: null }));
    const shown = this.#operations.reduce((rows, operation) => operation.show(rows), stored);
    return shown.map((row, at) => ({ ...row, position: at + 1, fresh: this.#freshWord(row.id) }));
  }

  /** The row as the server has it. @returns {Row|undefined} */
  stored(id) {
    return this.#list?.preferences.find((row) => row.id === id);
  }

  // -- the person's changes; each resolves to the fresh list or rejects with a RequestError -----------------

  add(draft) {
    const now = new Date().toISOString();
    const row = { ...draft, id: `unsaved-${++this.#added}`, unsaved: true, locked: false, pending: "Saving" };
    Object.assign(row, { created_by: "user", created_at: now, updated_by: "user", updated_at: now });
    return this.#enqueue({
      show: (rows) => [...rows, row],
      send: () => this.#client.add([draft]),
    });
  }

  /** @param {number} revision the row's revision that the person was looking at */
  edit(id, changes, revision) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.id === id ? { ...row, ...changes, pending: "Saving" } : row)),
      send: () => this.#client.edit(id, changes, revision),
    });
  }

  remove(id, revision) {
    return this.#enqueue({
      removes: id,
      show: (rows) => rows.filter((row) => row.id !== id),
      send: () => this.#client.remove(id, revision),
    });
  }

  lock(id, locked) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.id === id ? lockedAs(row, locked) : row)),
      send: () => this.#client.lock(id, locked),
    });
  }

  lockAll(locked) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.locked === locked || row.unsaved ? row : lockedAs(row, locked))),
      send: () => this.#client.lockAll(locked),
    });
  }

  /** Several moves in a row become one request. @param {string[]} ids every row's id, in the new order */
  order(ids) {
    const last = this.#operations.at(-1);
    if (last?.ids && !last.sent) {
      last.ids = ids;
      this.#changed();
      return last.done;
    }
    const operation = {
      ids,
      show: (rows) => inOrder(rows, operation.ids),
      send: () => this.#client.order(operation.ids),
    };
    return this.#enqueue(operation);
  }

  /** Takes the change of that revision back. */
  undo(revision) {
    return this.#enqueue({ show: (rows) => rows, send: () => this.#client.undo(revision), undoes: true });
  }

  history(cursor) {
    return this.#client.history(cursor);
  }

  // -- sending --------------------------------------------------------------------------------------------

  #enqueue(operation) {
    operation.done = new Promise((resolve, reject) => Object.assign(operation, { resolve, reject }));
    this.#epoch++;
    this.#operations.push(operation);
    this.#changed();
    this.#sendAll();
    return operation.done;
  }

  async #sendAll() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#operations.length) await this.#sendFirst();
    this.#sending = false;
  }

  async #sendFirst() {
    const operation = this.#operations[0];
    operation.sent = true;
    let list = null;
    let refusal = null;
    try {
      list = await this.#patiently(operation.send);
    } catch (error) {
      refusal = error;
      // An unknown outcome comes with the list as it now is, where the service could read it
      if (Array.isArray(error.problem?.preferences)) list = error.problem;
    }
    // In one go, so that no one sees the list without both the pending row and the stored one, or with both
    this.#operations.shift();
    this.#epoch++;
    if (list) this.#accept(list, operation);
    if (refusal) operation.reject(refusal);
    else operation.resolve(list);
    this.#changed();
    if (refusal) this.refresh(); // what is true now?
    else if (!this.#poll) this.#schedule();
  }

  async #patiently(send) {
    for (let tries = 1; ; tries++) {
      try {
        return await send();
      } catch (error) {
        if (!error.repeatable || tries === TRIES) throw error;
        await new Promise((wake) => setTimeout(wake, Math.min(error.wait || 500 * tries, 5_000)));
      }
    }
  }

  // -- polling --------------------------------------------------------------------------------------------

  /** Begins to watch, or looks at once when it already does. */
  wake() {
    this.#awake = true;
    this.refresh();
  }

  sleep() {
    this.#awake = false;
    this.#stopPolling();
  }

  /** Asks for the list now. Resolves when the answer is in, whatever it was. */
  async refresh() {
    this.#stopPolling();
    if (!this.#awake || this.#operations.length) return; // what is sent brings the list with it
    const poll = (this.#poll = new AbortController());
    const epoch = this.#epoch;
    try {
      const list = await this.#client.list(this.#list?.revision ?? null, poll.signal);
      if (poll.signal.aborted || epoch !== this.#epoch) return;
      if (list) this.#accept(list);
      this.#reached();
    } catch (error) {
      if (poll.signal.aborted) return;
      this.#failed(error);
    } finally {
      if (this.#poll === poll) {
        this.#poll = null;
        this.#schedule();
      }
    }
  }

  #stopPolling() {
    clearTimeout(this.#timer);
    this.#poll?.abort();
    this.#poll = null;
  }

  #schedule() {
    clearTimeout(this.#timer);
    if (!this.#awake) return;
    const lively = Date.now() - this.#lastChange < POLL.livelyFor;
    const pace = lively ? POLL.lively : POLL.calm;
    const wait = this.#failures ? backOff(this.#failures, this.trouble?.wait) : pace;
    this.#timer = setTimeout(() => this.refresh(), wait);
  }

  #reached() {
    this.#failures = 0;
    if (this.trouble) this.#setTrouble(null);
  }

  #failed(error) {
    this.#failures++;
    this.#setTrouble(error instanceof RequestError ? error : new RequestError("unreadable", 0));
  }

  #setTrouble(trouble) {
    this.trouble = trouble;
    this.dispatchEvent(new CustomEvent("trouble", { detail: trouble }));
    this.#changed();
  }

  // -- what the server says -------------------------------------------------------------------------------

  /** Takes a list unless it is no newer than the one in hand. */
  #accept(list, operation = null) {
    const before = this.#list;
    if (before && list.revision <= before.revision) return;
    this.#list = { thread_id: list.thread_id, revision: list.revision, preferences: list.preferences };
    if (before) this.#markFresh(before, list);
    this.#lastChange = Date.now();
    this.dispatchEvent(new CustomEvent("list", { detail: { before, after: this.#list, operation } }));
    this.#changed();
  }

  #markFresh(before, after) {
    const known = new Map(before.preferences.map((row) => [row.id, row]));
    for (const row of after.preferences) {
      if (known.get(row.id)?.revision === row.revision) continue;
      this.#fresh.delete(row.id); // what the person has changed since is no news of the agent's
      if (row.updated_by !== "agent") continue;
      this.#fresh.set(row.id, { word: known.has(row.id) ? "changed" : "new", until: Date.now() + FRESH_FOR });
    }
  }

  #freshWord(id) {
    const mark = this.#fresh.get(id);
    return mark && mark.until > Date.now() ? mark.word : null;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

function lockedAs(row, locked) {
  return { ...row, locked, pending: locked ? "Locking" : "Unlocking" };
}

function inOrder(rows, ids) {
  const places = new Map(ids.map((id, at) => [id, at]));
  const place = (row) => places.get(row.id) ?? ids.length; // sort is stable: rows not named keep their order
  return [...rows].sort((one, other) => place(one) - place(other));
}

function backOff(failures, asked = 0) {
  const wait = Math.min(POLL.lively * 2 ** failures, POLL.longest);
  return Math.max(asked, wait * (0.75 + Math.random() / 2));
}
