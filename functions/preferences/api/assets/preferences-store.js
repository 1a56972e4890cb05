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
import { RequestError, readList } from "./preferences-client.js";

/**
 * @typedef {import("./preferences-client.js").Row} Row
 * @typedef {import("./preferences-client.js").Draft} Draft
 * @typedef {import("./preferences-client.js").List} List
 * @typedef {import("./preferences-client.js").Values} Values
 * @typedef {import("./preferences-client.js").Suggestion} Suggestion
 *
 * `pending` is a word while a change of the row waits for its answer; `held`, whether its lock is acknowledged;
 * `fresh`, what the agent has just done; `unsaved`, a row that has no id of the service's yet.
 * @typedef {Row & {pending: string|null, held: boolean, fresh: "new"|"changed"|null, unsaved?: boolean}} ShownRow
 * @typedef {Suggestion & {pending: string|null}} ShownSuggestion
 *
 * A change of the person's: what is shown of it until it is answered, how it is sent, and whether a list shows
 * that it is done. It is sent as it was asked for, however often.
 * @typedef {object} Change
 * @property {(rows: ShownRow[]) => ShownRow[]} [show]
 * @property {() => Promise<List>} send
 * @property {(list: List) => boolean} holds
 * @property {string} [removes] a row's id
 * @property {boolean} [undoes]
 * @property {string} [suggestion] the suggestion's id that it answers, or "all"
 * @property {string[]} [ids] the order that it brings
 *
 * @typedef {Change & {sent: boolean, done: Promise<List>, resolve: (list: List) => void,
 *   reject: (error: RequestError) => void}} Operation
 */

/** Milliseconds. Lively for a minute after the opening and each change: that is when the next one is likely. */
const POLL = { lively: 2_000, calm: 5_000, longest: 60_000, livelyFor: 60_000 };
const FRESH_FOR = 45_000;
const TRIES = 4;

/**
 * Fires `list` ({detail: {before, after, operation}}) when the server's list moved on, `lost` when the service
 * no longer gives it, `change` whenever something to show changed, `trouble` ({detail: RequestError|null}) when
 * polling fails and when it works again.
 */
export class PreferencesStore extends EventTarget {
  #client;
  /** @type {List|null} */
  #list = null;
  /** @type {Operation[]} */
  #operations = [];
  #sending = false;
  #epoch = 0; // counts beginnings and ends of local changes
  /** @type {AbortController|null} of the poll in flight */
  #poll = null;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout>|undefined} a look at who a replaced provider speaks for */
  #look;
  #lastLook = 0;
  #failures = 0;
  #lastChange = 0;
  #awake = false;
  #added = 0; // names rows that have no id yet
  /** @type {Map<string, {word: "new"|"changed", until: number}>} row id → what the agent has just done */
  #fresh = new Map();
  /** @type {Array<{holds: (list: List) => boolean, arrived: (list: List) => void}>} changes whose answer was lost */
  #doubts = [];

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

  /** The rows as shown, numbered. @returns {ShownRow[]} */
  get rows() {
    const stored = new Map(this.#list?.preferences.map((row) => [row.id, row]));
    /** @type {ShownRow[]} */
    const plain = [...stored.values()].map((row) => ({ ...row, pending: null, held: false, fresh: null }));
    const shown = this.#operations.reduce((rows, { show }) => (show ? show(rows) : rows), plain);
    return shown.map((row, at) => ({
      ...row, position: at + 1, fresh: row.updated_by === "agent" ? this.#freshWord(row.id) : null,
      held: row.locked && stored.get(row.id)?.locked === true, // a lock counts once it is acknowledged
    }));
  }

  /** What the agent suggests; empty where the service knows no suggestions. @returns {ShownSuggestion[]} */
  get suggestions() {
    const answered = new Set(this.#operations.map((operation) => operation.suggestion));
    const waits = (/** @type {string} */ id) => (answered.has(id) || answered.has("all") ? "Saving" : null);
    return (this.#list?.suggestions ?? []).map((each) => ({ ...each, pending: waits(each.id) }));
  }

  /** The row as the server has it. @param {string} id @returns {Row|undefined} */
  stored(id) {
    return this.#list?.preferences.find((row) => row.id === id);
  }

  // -- the person's changes; each resolves to the fresh list or rejects with a RequestError -----------------

  /** @param {Draft} draft */
  add(draft) {
    const now = new Date().toISOString();
    /** @type {ShownRow} */
    const row = {
      ...draft, id: `unsaved-${++this.#added}`, unsaved: true, locked: false, held: false, pending: "Saving", fresh: null,
      position: 0, revision: 0, created_by: "user", created_at: now, updated_by: "user", updated_at: now,
    };
    return this.#enqueue({
      show: (rows) => [...rows, row],
      send: () => this.#client.add([draft]),
      holds: (list) => list.preferences.some((each) => has(each, draft)),
    });
  }

  /** @param {string} id @param {Values} changes @param {number} revision the row's that the person was looking at */
  edit(id, changes, revision) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.id === id ? { ...row, ...changes, pending: "Saving" } : row)),
      send: () => this.#client.edit(id, changes, revision),
      holds: (list) => has(find(list, id), changes),
    });
  }

  /** @param {string} id @param {number} revision the row's that the person was looking at */
  remove(id, revision) {
    return this.#enqueue({
      removes: id,
      show: (rows) => rows.filter((row) => row.id !== id),
      send: () => this.#client.remove(id, revision),
      holds: (list) => !find(list, id),
    });
  }

  /** @param {string} id @param {boolean} locked */
  lock(id, locked) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.id === id ? lockedAs(row, locked) : row)),
      send: () => this.#client.lock(id, locked),
      holds: (list) => find(list, id)?.locked === locked,
    });
  }

  /** @param {boolean} locked */
  lockAll(locked) {
    return this.#enqueue({
      show: (rows) => rows.map((row) => (row.locked === locked || row.unsaved ? row : lockedAs(row, locked))),
      send: () => this.#client.lockAll(locked),
      holds: (list) => list.preferences.every((row) => row.locked === locked),
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
    /** @type {Change & {ids: string[]}} */
    const change = {
      ids,
      show: (rows) => inOrder(rows, change.ids),
      send: () => this.#client.order(this.#present(change.ids)),
      holds: (list) => isInOrder(list, change.ids),
    };
    return this.#enqueue(change);
  }

  /** The service refuses an order that names a row which is gone. @param {string[]} ids */
  #present(ids) {
    return ids.filter((id) => this.stored(id));
  }

  /**
   * Takes the change of that revision back.
   * @param {number} revision
   * @param {(list: List) => boolean} holds whether a list shows that it is taken back
   */
  undo(revision, holds) {
    return this.#enqueue({ send: () => this.#client.undo(revision), undoes: true, holds });
  }

  /** Does what the agent suggests. @param {Suggestion} suggestion @param {boolean} [removes] */
  accept(suggestion, removes = suggestion.action === "remove") {
    return this.#enqueue({
      suggestion: suggestion.id,
      removes: removes ? suggestion.preference_id ?? undefined : undefined,
      show: (rows) => (removes ? rows.filter((row) => row.id !== suggestion.preference_id) : rows),
      send: () => this.#client.accept(suggestion.id),
      holds: (list) => isAccepted(list, suggestion),
    });
  }

  /** @param {string} id the suggestion's */
  dismiss(id) {
    return this.#enqueue({
      suggestion: id,
      send: () => this.#client.dismiss(id),
      holds: (list) => !list.suggestions.some((each) => each.id === id),
    });
  }

  dismissAll() {
    return this.#enqueue({
      suggestion: "all",
      send: () => this.#client.dismissAll(),
      holds: (list) => list.suggestions.length === 0,
    });
  }

  /** @param {string|null} [cursor] */
  history(cursor) {
    return this.#client.history(cursor);
  }

  /**
   * Goes on with another provider. Asks it whose token it gives, and asks the service only where it has been
   * waiting for one. @param {import("./preferences-client.js").TokenProvider} provider
   */
  replaceProvider(provider) {
    this.#client.replaceProvider(provider);
    if (this.#look) return;
    // Some frameworks give a new function with every rendering
    const wait = Math.max(0, this.#lastLook + POLL.lively - Date.now());
    this.#look = setTimeout(() => {
      this.#look = undefined;
      this.#lastLook = Date.now();
      if (this.trouble && this.#awake) this.refresh();
      else this.#client.recognise().catch(() => {}); // it tells a stranger by itself; a request tells the rest
    }, wait);
  }

  // -- sending --------------------------------------------------------------------------------------------

  /** @param {Change} change @returns {Promise<List>} */
  #enqueue(change) {
    const operation = /** @type {Operation} */ (Object.assign(change, { sent: false }));
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
    /** @type {List|null} */
    let list;
    /** @type {RequestError|null} */
    let refusal = null;
    try {
      list = await this.#patiently(operation.send);
    } catch (error) {
      refusal = asRefusal(error);
      // Where a change was not made, or may not have been, the service shows the list as it now is
      list = readList(refusal.problem);
      if (list && operation.holds(list)) { // it had arrived
        refusal = null;
        list.inferred = true;
      }
    }
    // In one go, so that no one sees the list without both the pending row and the stored one, or with both
    this.#operations.shift();
    this.#epoch++;
    if (list) this.#accept(list, operation);
    if (refusal) {
      this.#doubt(refusal, operation);
      operation.reject(refusal);
    } else if (list) operation.resolve(list);
    this.#changed();
    if (refusal) this.refresh(); // what is true now?
    else if (!this.#poll) this.#schedule();
  }

  /** What was not acknowledged may have arrived: the first list that shows it tells. @param {RequestError} refusal @param {Operation} operation */
  #doubt(refusal, { holds }) {
    refusal.arrived = new Promise((arrived) => this.#doubts.push({ holds, arrived }));
  }

  /** @param {() => Promise<List>} send */
  async #patiently(send) {
    for (let tries = 1; ; tries++) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof RequestError) || !error.repeatable || tries === TRIES) throw error;
        const wait = Math.min(error.wait || 500 * tries, 5_000);
        await new Promise((wake) => setTimeout(wake, wait));
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
      this.#failed(asRefusal(error));
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

  /** @param {RequestError} error */
  #failed(error) {
    this.#failures++;
    if (error.code === "not_found") this.#lose();
    this.#setTrouble(error);
  }

  /** The service gives this list to the present caller no more: then it is not theirs to see here either. */
  #lose() {
    if (!this.#list) return;
    this.#list = null;
    this.#fresh.clear();
    this.#doubts = [];
    this.dispatchEvent(new Event("lost"));
  }

  /** @param {RequestError|null} trouble */
  #setTrouble(trouble) {
    this.trouble = trouble;
    this.dispatchEvent(new CustomEvent("trouble", { detail: trouble }));
    this.#changed();
  }

  // -- what the server says -------------------------------------------------------------------------------

  /** Takes a list unless it is no newer than the one in hand. @param {List} list @param {Operation|null} [operation] */
  #accept(list, operation = null) {
    const before = this.#list;
    if (before && list.revision <= before.revision) return;
    const { revision, preferences, suggestions } = list;
    this.#list = { thread_id: list.thread_id ?? before?.thread_id ?? "", revision, preferences, suggestions };
    if (before) this.#markFresh(before, list);
    this.#lastChange = Date.now();
    this.#settleDoubts(this.#list);
    this.dispatchEvent(new CustomEvent("list", { detail: { before, after: this.#list, operation } }));
    this.#changed();
  }

  /** @param {List} list */
  #settleDoubts(list) {
    const settled = this.#doubts.filter(({ holds }) => holds(list));
    this.#doubts = this.#doubts.filter((doubt) => !settled.includes(doubt));
    for (const { arrived } of settled) arrived(list);
  }

  /** @param {List} before @param {List} after */
  #markFresh(before, after) {
    const known = new Map(before.preferences.map((row) => [row.id, row]));
    for (const row of after.preferences) {
      if (known.get(row.id)?.revision === row.revision) continue;
      this.#fresh.delete(row.id); // what the person has changed since is no news of the agent's
      if (row.updated_by !== "agent") continue;
      this.#fresh.set(row.id, { word: known.has(row.id) ? "changed" : "new", until: Date.now() + FRESH_FOR });
    }
  }

  /** @param {string} id */
  #freshWord(id) {
    const mark = this.#fresh.get(id);
    return mark && mark.until > Date.now() ? mark.word : null;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** @param {unknown} error @returns {RequestError} */
function asRefusal(error) {
  if (error instanceof RequestError) return error;
  console.error(error); // a fault of ours
  return new RequestError("unreadable", 0);
}

/** @param {ShownRow} row @param {boolean} locked @returns {ShownRow} */
function lockedAs(row, locked) {
  return { ...row, locked, pending: locked ? "Locking" : "Unlocking" };
}

/** @param {ShownRow[]} rows @param {string[]} ids */
function inOrder(rows, ids) {
  const places = new Map(ids.map((id, at) => [id, at]));
  const place = (/** @type {Row} */ row) => places.get(row.id) ?? ids.length; // sort is stable: rows not named keep their order
  return [...rows].sort((one, other) => place(one) - place(other));
}

/** @param {List} list @param {string[]} ids */
function isInOrder({ preferences }, ids) {
  const wanted = ids.filter((id) => preferences.some((row) => row.id === id));
  return wanted.every((id, at) => preferences[at].id === id);
}

/** @param {List} list @param {string|null} id */
function find({ preferences }, id) {
  return preferences.find((row) => row.id === id);
}

/**
 * Whether a row has these values. The service composes letters and tidies white space; what it changes beyond
 * that makes this say no, and the person is told once too often that something may not have arrived.
 * @param {Row|undefined} row @param {Values|null} values
 */
export function has(row, values) {
  if (!row || !values) return false;
  const plain = (/** @type {unknown} */ value) => (typeof value === "string" ? value.normalize("NFC").replace(/\s+/g, " ").trim() || null : value ?? null);
  return Object.entries(values).every(([name, value]) => plain(/** @type {any} */ (row)[name]) === plain(value));
}

/** @param {List} list @param {Suggestion} suggestion */
function isAccepted(list, { id, action, preference_id: target, after }) {
  if (list.suggestions.some((each) => each.id === id)) return false;
  if (action === "remove") return !find(list, target);
  return action === "edit" ? has(find(list, target), after) : list.preferences.some((row) => has(row, after));
}

/** @param {number} failures @param {number} [asked] milliseconds that the server asks to wait */
function backOff(failures, asked = 0) {
  const wait = Math.min(POLL.lively * 2 ** failures, POLL.longest);
  return Math.max(asked, wait * (0.75 + Math.random() / 2));
}
