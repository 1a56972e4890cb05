/** The people's door as a browser sees it: one conversation's routes, and every way that a call can fail. */

/**
 * @typedef {"hard"|"soft"} Kind
 * @typedef {{title: string, subtitle: string|null, kind: Kind}} Draft
 * @typedef {Draft & {id: string, position: number, locked: boolean, revision: number,
 *   created_by: "agent"|"user", created_at: string, updated_by: "agent"|"user", updated_at: string}} Row
 * @typedef {{thread_id: string, revision: number, preferences: Row[]}} List
 * @typedef {{revision: number, actor: "agent"|"user", action: string, reasoning: string|null, at: string,
 *   summary: string, changes: Array<{id: string, title: string, before: object|null, after: object|null}>}} Entry
 */

/** What a person is told, by code; the server's own `detail` serves for the rest. */
const WORDS = {
  offline: "there is no connection",
  timeout: "the service did not answer in time",
  unreadable: "the service gave no proper answer",
  unauthorized: "your sign-in has run out",
  not_found: "it is no longer there",
  busy: "the list is busy just now",
  not_ready: "the change is still being written down",
  throttled: "there are too many requests just now",
  outcome_unknown: "it is not known whether it arrived; the list shows what is stored",
  list_full: "the list is full",
  precondition_failed: "it was changed in the meantime",
  internal_error: "something went wrong at the service",
};

/** Known not to have been applied, so that sending it again is no guess. */
const SAFE_TO_REPEAT = new Set(["busy", "not_ready", "throttled"]);
const TIME_LIMIT = 15_000;

export class RequestError extends Error {
  /**
   * @param {string} code one of the problem codes, or offline, timeout, unreadable, throttled
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
}

function explain(code, problem) {
  const fields = problem?.errors?.map((error) => error.message).filter(Boolean);
  if (code === "invalid_input" && fields?.length) return fields.join("; ");
  return WORDS[code] ?? problem?.detail ?? problem?.title ?? WORDS.unreadable;
}

export class PreferencesClient {
  /**
   * @param {string} base the API's address, "" for the page's own
   * @param {string} threadId
   * @param {(hint: {renew: boolean}) => Promise<string|null>} token gives an access token; asked with
   *   `renew` after the last one was refused
   */
  constructor(base, threadId, token) {
    this.root = `${base.replace(/\/+$/, "")}/threads/${encodeURIComponent(threadId)}`;
    this.token = token;
  }

  /**
   * @param {number|null} revision the thread revision in hand: its ETag is that number, quoted
   * @returns {Promise<List|null>} null: nothing is newer
   */
  async list(revision, signal) {
    const headers = revision === null ? {} : { "If-None-Match": `"${revision}"` };
    const answer = await this.#call("GET", "/preferences", { headers, signal });
    return answer.status === 304 ? null : asList(answer);
  }

  /** @returns {Promise<List & {outcomes: Array<{outcome: string, id: string, position: number}>}>} */
  add = (items) => this.#change("POST", "/preferences", { items });
  edit = (id, changes, revision) => this.#change("PATCH", row(id), changes, ifMatch(revision));
  remove = (id, revision) => this.#change("DELETE", row(id), undefined, ifMatch(revision));
  lock = (id, locked) => this.#change(locked ? "PUT" : "DELETE", `${row(id)}/lock`);
  lockAll = (locked) => this.#change(locked ? "PUT" : "DELETE", "/lock");
  order = (ids) => this.#change("PUT", "/order", { ids });
  undo = (revision) => this.#change("POST", `/history/${revision}/undo`);

  /** @returns {Promise<{entries: Entry[], next: string|null}>} newest first */
  async history(cursor, limit = 20) {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor ? { cursor } : {}) });
    const answer = await this.#call("GET", `/history?${query}`);
    if (!Array.isArray(answer.data?.entries)) throw new RequestError("unreadable", answer.status);
    return answer.data;
  }

  async #change(method, path, body, headers) {
    return asList(await this.#call(method, path, { body, headers }));
  }

  async #call(method, path, options = {}) {
    const first = await this.#askForToken(false);
    const answer = first && (await this.#send(method, path, first, options));
    if (answer && answer.status !== 401) return checked(answer);
    const second = await this.#askForToken(true);
    if (!second || second === first) throw new RequestError("unauthorized", 401);
    return checked(await this.#send(method, path, second, options));
  }

  /** A provider that fails has no token to give. */
  async #askForToken(renew) {
    try {
      return await this.token({ renew });
    } catch (error) {
      console.warn("preferences-panel: the token provider failed", error);
      return null;
    }
  }

  async #send(method, path, token, { body, headers = {}, signal }) {
    // AbortSignal.any and .timeout would do, but browsers of 2023 lack them
    const stop = new AbortController();
    let late = false;
    const giveUp = () => stop.abort();
    const timer = setTimeout(() => {
      late = true;
      giveUp();
    }, TIME_LIMIT);
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp);
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
        signal: stop.signal,
        cache: "no-store", // the ETag is ours to keep: the browser's cache would turn a 304 into a 200
        credentials: "omit",
      });
      return { status: response.status, headers: response.headers, data: await readJson(response) };
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new RequestError(late ? "timeout" : "offline", 0);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  }
}

const row = (id) => `/preferences/${encodeURIComponent(id)}`;
const ifMatch = (revision) => ({ "If-Match": `"${revision}"` });

/** A proxy's HTML page, whatever its status, reads as nothing. */
async function readJson(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function checked(answer) {
  const { status, headers, data } = answer;
  if (status < 300 || status === 304) return answer;
  const wait = Number(headers.get("Retry-After")) * 1000 || 0;
  // API Gateway's own refusals are {"message"}, without a code
  const code = data?.code ?? { 401: "unauthorized", 404: "not_found", 429: "throttled" }[status] ?? "unreadable";
  throw new RequestError(code, status, data, wait);
}

function asList({ status, data }) {
  if (Array.isArray(data?.preferences) && Number.isInteger(data.revision)) return data;
  throw new RequestError("unreadable", status);
}
