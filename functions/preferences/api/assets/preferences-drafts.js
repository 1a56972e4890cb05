/**
 * What a person has begun to write, kept for each conversation until it is sent or given up: over another
 * conversation, a reload, a sign-in. It stays in this tab, and goes when the person signs out.
 */

/** @typedef {import("./preferences-client.js").Draft} Draft */
/** @typedef {import("./preferences-client.js").Row} Row */
/**
 * `composer` is what stands in the fields for a new one, `unsent` what the service did not take while the
 * person wrote on, `edits` the open edits by row: the row that the person started from, and their text.
 * @typedef {{composer?: Draft|null, unsent?: Draft[], edits?: Record<string, {base: Row, draft: Draft}>}} Kept
 */

const PREFIX = "preferences-panel.draft.";
/** @type {Map<string, string>} for browsers that refuse storage: then drafts last as long as the page */
const memory = new Map();

export class Drafts {
  /** @param {string} thread with the API's address, for hosts that have several */
  constructor(thread) {
    this.key = PREFIX + thread;
    /** Whose they are; null until a token tells. @type {string|null} */
    this.who = null;
    /** What is written before that. @type {Kept} */
    this.early = {};
  }

  /** From here on it is known who writes: what another person began stays theirs. @param {string} who a token's `sub` */
  begin(who) {
    this.who = who;
    const { composer, unsent, edits } = this.read();
    const { early } = this;
    this.keep({
      composer: early.composer ?? composer,
      unsent: [...(unsent ?? []), ...(early.unsent ?? [])],
      edits: { ...edits, ...early.edits },
    });
  }

  /** @returns {Kept} */
  read() {
    if (this.who === null) return this.early;
    try {
      const { who, ...kept } = JSON.parse(load(this.key) ?? "{}");
      return who === this.who ? kept : {};
    } catch {
      return {}; // somebody else's value
    }
  }

  /** @param {Kept} part what of it is new */
  keep(part) {
    const kept = { ...this.read(), ...part };
    if (this.who === null) return void (this.early = kept);
    const isEmpty = !kept.composer && !kept.unsent?.length && !Object.keys(kept.edits ?? {}).length;
    save(this.key, isEmpty ? null : JSON.stringify({ ...kept, who: this.who }));
  }

  /** @param {string} id @param {{base: Row, draft: Draft}|null} edit null: saved, or given up */
  keepEdit(id, edit) {
    const edits = { ...this.read().edits };
    if (edit) edits[id] = edit;
    else delete edits[id];
    this.keep({ edits });
  }
}

/** Forgets what was begun in every conversation: the person leaves. */
export function forgetDrafts() {
  memory.clear();
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch {
    // nothing was stored
  }
}

/** @param {string} key */
function load(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return memory.get(key) ?? null;
  }
}

/** @param {string} key @param {string|null} text */
function save(key, text) {
  try {
    if (text === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    if (text === null) memory.delete(key);
    else memory.set(key, text);
  }
}
