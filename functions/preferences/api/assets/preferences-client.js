/** The people's API as a browser sees it: one conversation's routes, and every way that a call can fail. */

import { t } from "./preferences-texts.js";

/**
 * @typedef {"hard"|"soft"} Kind
 * @typedef {{title: string, subtitle: string|null, kind: Kind}} Draft
 * @typedef {Draft & {id: string, position: number, locked: boolean, revision: number,
 *   created_by: "agent"|"user", created_at: string, updated_by: "agent"|"user", updated_at: string}} Row
 * @typedef {{id: string, action: "add"|"edit"|"remove", preference_id: string|null, before: Draft|null,
 *   after: Draft|null, reasoning: string|null, agent: string|null, at: string}} Suggestion
 * @typedef {{outcome: "recorded"|"duplicate", id: string, position: number}} Outcome
 * @typedef {{thread_id: string, revision: number, preferences: Row[], suggestions: Suggestion[],
 *   outcomes?: Outcome[], inferred?: boolean}} List `inferred`: what was asked for shows in it, and which of the
 *   revisions brought it is not known
 * @typedef {Partial<Draft> & {locked?: boolean}} Values
 * @typedef {{revision: number, actor: "agent"|"user", action: string, reasoning: string|null, at: string,
 *   summary: string, changes: Array<{id: string, title: string, before: Values|null, after: Values|null}>}} Entry
 * @typedef {(hint: {renew: boolean}) => Promise<string|null>|string|null} TokenProvider
 */

/** Known not to have been applied, so that sending it again is no guess. */
const SAFE_TO_REPEAT = new Set(["busy", "not_ready", "throttled"]);
/** What no request came of, although there is no status. */
const NEVER_SENT = new Set(["token_timeout", "another_person"]);

/**
 * Milliseconds. The service stops a request after 15 s, and makes no plan later than after 10: what was given
 * up here is over by then.
 */
const LIMIT = { token: 10_000, answer: 20_000 };

export class RequestError extends Error {
  /** Resolves when a later list shows that what was asked for is so. @type {Promise<List>|undefined} */
  arrived;

  /**
   * @param {string} code one of the problem codes, or a key of `why` in preferences-texts.js
   * @param {number} status the HTTP status, 0 when there was no answer
   * @param {any} [problem] the problem document, where there was one
   * @param {number} [wait] milliseconds that the server asks to wait
   */
  constructor(code, status, problem, wait = 0) {
    super(explain(code, problem));
    this.name = "RequestError";
    this.code = code;
    this.status = status;
    this.problem = problem ?? {};
    this.wait = wait;
  }

  get repeatable() {
    return SAFE_TO_REPEAT.has(this.code);
  }

  /** Whether the change may have been made all the same: the answer to it was lost, or made no sense. */
  get unsure() {
    if (this.repeatable || NEVER_SENT.has(this.code)) return false;
    return this.status < 300 || this.status >= 500;
  }
}

/** @param {string} code @param {any} problem @returns {string} */
function explain(code, problem) {
  const faults = Array.isArray(problem?.errors) ? problem.errors.map((/** @type {any} */ each) => each?.message).filter(Boolean) : [];
  if (code === "invalid_input" && faults.length) return faults.join("; ");
  return /** @type {Record<string, string>} */ (t.why)[code] ?? problem?.detail ?? problem?.title ?? t.why.unreadable;
}

const REPLACED = Symbol("the provider was replaced");
const LATE = Symbol("the provider did not answer in time");

export class PreferencesClient {
  #provider;
  /** Whose token was seen first: "" where the token does not say. @type {string|null} */
  #reader = null;
  /** @type {Promise<typeof REPLACED>} */
  #replaced;
  /** @type {(value: typeof REPLACED) => void} */
  #replace = () => {};

  /**
   * @param {string} base the API's address, "" for the page's own
   * @param {string} threadId
   * @param {TokenProvider} provider gives an access token; asked with `renew` after the last one was refused
   * @param {{reader?: (sub: string) => void, stranger?: () => void}} [on] `reader` is told once whose token it
   *   is; `stranger`, that a later token is somebody else's: what the first has read is not theirs to see, and
   *   this client sends nothing for them
   */
  constructor(base, threadId, provider, on = {}) {
    this.root = `${base.replace(/\/+$/, "")}/threads/${encodeURIComponent(threadId)}`;
    this.#provider = provider;
    this.on = on;
    this.#replaced = this.#nextReplacement();
  }

  /** From now on, the new one is asked; also for a token that the old one still owes. @param {TokenProvider} provider */
  replaceProvider(provider) {
    this.#provider = provider;
    const tell = this.#replace;
    this.#replaced = this.#nextReplacement();
    tell(REPLACED);
  }

  #nextReplacement() {
    return new Promise((/** @type {(value: typeof REPLACED) => void} */ resolve) => (this.#replace = resolve));
  }

  /** Asks who is signed in, and nothing of the service. */
  async recognise() {
    await this.#askForToken(false);
  }

  /**
   * @param {number|null} revision the thread revision in hand: its ETag is that number, quoted
   * @param {AbortSignal} [signal]
   * @returns {Promise<List|null>} null: nothing is newer
   */
  async list(revision, signal) {
    /** @type {Record<string, string>} */
    const headers = revision === null ? {} : { "If-None-Match": `"${revision}"` };
    const answer = await this.#call("GET", "/preferences", { headers, signal });
    return answer.status === 304 ? null : asList(answer);
  }

  /** @param {Draft[]} items */
  add = (items) => this.#change("POST", "/preferences", { items });
  /** @param {string} id @param {Values} changes @param {number} revision the row's */
  edit = (id, changes, revision) => this.#change("PATCH", row(id), changes, ifMatch(revision));
  /** @param {string} id @param {number} revision the row's */
  remove = (id, revision) => this.#change("DELETE", row(id), undefined, ifMatch(revision));
  /** @param {string} id @param {boolean} locked */
  lock = (id, locked) => this.#change(locked ? "PUT" : "DELETE", `${row(id)}/lock`);
  /** @param {boolean} locked */
  lockAll = (locked) => this.#change(locked ? "PUT" : "DELETE", "/lock");
  /** @param {string[]} ids */
  order = (ids) => this.#change("PUT", "/order", { ids });
  /** @param {number} revision the change's */
  undo = (revision) => this.#change("POST", `/history/${revision}/undo`);
  /** @param {string} id the suggestion's */
  accept = (id) => this.#change("POST", `${suggestion(id)}/accept`);
  /** @param {string} id the suggestion's */
  dismiss = (id) => this.#change("DELETE", suggestion(id));
  dismissAll = () => this.#change("DELETE", "/suggestions");

  /**
   * Gives the conversation a name; null takes it away.
   * @param {string|null} title
   * @returns {Promise<string|null>} the name as it is stored
   */
  async rename(title) {
    const { status, data } = await this.#call("PATCH", "", { body: { title } });
    if (typeof data?.title !== "string" && data?.title !== null) throw new RequestError("unreadable", status);
    return data.title;
  }

  /**
   * @param {string|null} [cursor] `next` of the page before
   * @returns {Promise<{entries: Entry[], next: string|null}>} newest first
   */
  async history(cursor, limit = 20) {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor ? { cursor } : {}) });
    const answer = await this.#call("GET", `/history?${query}`);
    if (!Array.isArray(answer.data?.entries)) throw new RequestError("unreadable", answer.status);
    return { entries: answer.data.entries.map(asEntry).filter(isThere), next: answer.data.next ?? null };
  }

  /** @param {string} method @param {string} path @param {object} [body] @param {Record<string, string>} [headers] */
  async #change(method, path, body, headers) {
    return asList(await this.#call(method, path, { body, headers }));
  }

  /**
   * @param {string} method @param {string} path
   * @param {{body?: object, headers?: Record<string, string>, signal?: AbortSignal}} [options]
   */
  async #call(method, path, options = {}) {
    const first = await this.#askForToken(false);
    const answer = first && (await this.#send(method, path, first, options));
    if (answer && answer.status !== 401) return checked(answer);
    const second = await this.#askForToken(true);
    if (!second || second === first) throw new RequestError("unauthorized", 401);
    return checked(await this.#send(method, path, second, options));
  }

  /** @param {boolean} renew @returns {Promise<string|null>} */
  async #askForToken(renew) {
    let timer;
    const late = new Promise((/** @type {(value: typeof LATE) => void} */ resolve) => {
      timer = setTimeout(resolve, LIMIT.token, LATE);
    });
    try {
      for (;;) {
        const answer = await Promise.race([ask(this.#provider, renew), this.#replaced, late]);
        if (answer === REPLACED) continue;
        if (answer === LATE) throw new RequestError("token_timeout", 0);
        if (answer) this.#look(answer);
        return answer;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whose token is it? @param {string} token */
  #look(token) {
    const sub = String(claimsOf(token)?.sub ?? "");
    if (!sub && this.#reader !== null) return; // it says nothing: the service decides
    if (!this.#reader) {
      this.#reader = sub;
      this.on.reader?.(sub);
    } else if (sub !== this.#reader) {
      this.on.stranger?.();
      throw new RequestError("another_person", 0);
    }
  }

  /**
   * @param {string} method @param {string} path @param {string} token
   * @param {{body?: object, headers?: Record<string, string>, signal?: AbortSignal}} options
   */
  async #send(method, path, token, { body, headers = {}, signal }) {
    // AbortSignal.any would say it shorter; browsers have it since 2024 only
    const ends = new AbortController();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      ends.abort();
    }, LIMIT.answer);
    const abort = () => ends.abort();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    try {
      const response = await fetch(this.root + path, {
        method,
        headers: {
          Accept: "application/json",
          Authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: ends.signal,
        cache: "no-store", // the ETag is ours to keep: the browser's cache would turn a 304 into a 200
        credentials: "omit",
      });
      return { status: response.status, headers: response.headers, data: await readJson(response) };
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new RequestError(late ? "timeout" : "offline", 0);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** A provider that fails has no token to give. @param {TokenProvider} provider @param {boolean} renew */
async function ask(provider, renew) {
  try {
    return (await provider({ renew })) || null;
  } catch (error) {
    console.warn("preferences-panel: the token provider failed", error);
    return null;
  }
}

/**
 * What a token says of its bearer. The service verifies tokens; a page never needs to.
 * @param {string|null} token @returns {Record<string, any>|null} null where it is no JSON Web Token
 */
export function claimsOf(token) {
  try {
    const payload = String(token).split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0))));
    return claims && typeof claims === "object" ? claims : null;
  } catch {
    return null;
  }
}

/** @param {string} id */
const row = (id) => `/preferences/${encodeURIComponent(id)}`;
/** @param {string} id */
const suggestion = (id) => `/suggestions/${encodeURIComponent(id)}`;
/** @param {number} revision */
const ifMatch = (revision) => ({ "If-Match": `"${revision}"` });

/** A proxy's HTML page, whatever its status, reads as nothing. @param {Response} response @returns {Promise<any>} */
async function readJson(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @typedef {{status: number, headers: Headers, data: any}} Answer */

/** @param {Answer} answer @returns {Answer} */
function checked(answer) {
  const { status, headers, data } = answer;
  if (status < 300 || status === 304) return answer;
  const wait = Number(headers.get("Retry-After")) * 1000 || 0;
  // API Gateway's own refusals are {"message"}, without a code
  const code = data?.code ?? /** @type {Record<number, string>} */ ({ 401: "unauthorized", 404: "not_found", 429: "throttled" })[status] ?? "unreadable";
  throw new RequestError(code, status, data, wait);
}

/** @param {Answer} answer */
function asList({ status, data }) {
  const list = readList(data);
  if (list) return list;
  throw new RequestError("unreadable", status);
}

/**
 * A list out of an answer, whatever else the answer is; null where it holds none. An odd value in one row
 * never keeps the others from showing.
 * @param {any} data @returns {List|null}
 */
export function readList(data) {
  if (!Array.isArray(data?.preferences) || !Number.isInteger(data.revision)) return null;
  const suggestions = Array.isArray(data.suggestions) ? data.suggestions : []; // older services have none
  return {
    thread_id: data.thread_id,
    revision: data.revision,
    preferences: data.preferences.map(asRow).filter(isThere),
    suggestions: suggestions.map(asSuggestion).filter(isThere),
    ...(Array.isArray(data.outcomes) ? { outcomes: data.outcomes } : {}),
  };
}

/** @template T @param {T|null} value @returns {value is T} */
const isThere = (value) => value !== null;
/** @param {any} value @returns {string} */
const text = (value) => (value === null || value === undefined ? "" : String(value));
/** @param {any} value @returns {"agent"|"user"} */
const actor = (value) => (value === "agent" ? "agent" : "user");

/** @param {any} value @returns {Draft} */
function asDraft(value) {
  return { title: text(value.title) || "Untitled", subtitle: text(value.subtitle) || null, kind: value.kind === "hard" ? "hard" : "soft" };
}

/** @param {any} value @returns {Row|null} null: nothing that could be shown or changed */
function asRow(value) {
  if (typeof value?.id !== "string") return null;
  return {
    ...value,
    ...asDraft(value),
    locked: value.locked === true,
    revision: Number.isInteger(value.revision) ? value.revision : 0,
    created_by: actor(value.created_by),
    created_at: text(value.created_at),
    updated_by: actor(value.updated_by),
    updated_at: text(value.updated_at),
  };
}

/** @param {any} value @returns {Suggestion|null} null: a kind of a later service, or one that lacks its text */
function asSuggestion(value) {
  if (typeof value?.id !== "string") return null;
  const { id, action, preference_id: target } = value;
  const before = value.before ? asDraft(value.before) : null;
  const after = value.after ? asDraft(value.after) : null;
  const whole = { add: after, edit: after && before && target, remove: before && target };
  if (!(/** @type {Record<string, unknown>} */ (whole)[action])) return null;
  const words = { reasoning: text(value.reasoning) || null, agent: text(value.agent) || null, at: text(value.at) };
  return { id, action, preference_id: target ?? null, before, after, ...words };
}

/** @param {any} value @returns {Entry|null} */
function asEntry(value) {
  if (!Number.isInteger(value?.revision)) return null;
  const changes = Array.isArray(value.changes) ? value.changes.filter((/** @type {any} */ each) => typeof each?.id === "string") : [];
  return { ...value, actor: actor(value.actor), at: text(value.at), summary: text(value.summary), reasoning: text(value.reasoning) || null, changes };
}
