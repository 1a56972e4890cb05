/** The page: sign-in, the choice of a conversation, the panel, and where there is one the agent's console. */
import "./preferences-panel.js";
import { ConversationName } from "./conversation-name.js";
import { h, say, set } from "./dom.js";
import { forgetDrafts } from "./preferences-drafts.js";
import { accessToken, beginSignIn, canSignIn, finishSignIn, forgetToken, hasStorage, person, signOut } from "./sign-in.js";

const MOST_PAGES = 20;
const UNREACHABLE = "The service cannot be reached.";

/** @param {string} id */
const at = (id) => /** @type {any} */ (document.getElementById(id));
const panel = at("panel");

/** @typedef {import("./sign-in.js").Settings} Settings */

/** @type {Settings} */
let settings;
/** The person's conversations and their names. @type {Map<string, string|null>} */
let threads = new Map();
/** @type {{begin: () => void, listChanged: (list: any) => void}|null} */
let agentConsole = null; // the local stack's alone
/** @type {any} */
let newest = null; // the newest list that the panel told of
/** @type {string} */
const CONSOLE = "/local/agent-console.js";

async function start() {
  if (!hasStorage()) throw new Error("This page needs the browser's storage to keep you signed in. Allow site data for it, then try again.");
  panel.tokenProvider = async () => accessToken();
  panel.addEventListener("preferences-error", (/** @type {CustomEvent} */ event) => {
    if (event.detail.code !== "unauthorized") return;
    event.preventDefault(); // told here, once
    askToSignIn();
  });
  panel.addEventListener("preferences-changed", (/** @type {CustomEvent} */ { detail }) => {
    newest = detail;
    agentConsole?.listChanged(detail);
  });
  showList();
  settings = await readSettings();
  at("sign-in").hidden = !canSignIn(settings);
  if (!canSignIn(settings) && !accessToken()) tell("Signing in is not set up for this page.");
  else await finishSignIn(settings);
  if (person()) await enter();
  else show("welcome");
}

/** The list of the conversation in the address needs neither the settings nor the other conversations. */
function showList() {
  const id = hashThread();
  if (!id || !person()) return;
  panel.setAttribute("thread-id", id);
  show("work");
}

/** @returns {Promise<import("./sign-in.js").Settings>} */
async function readSettings() {
  const response = await fetch("/config.json");
  const answer = await response.json().catch(() => null);
  // A throttled stage answers in JSON too
  if (!response.ok || typeof answer?.redirect_path !== "string") throw new Error(UNREACHABLE);
  return answer;
}

async function enter() {
  say(at("person-name"), person()?.name ?? "");
  at("person").hidden = false;
  threads = await readThreads();
  if (settings.agent_console) await openConsole(settings.agent_console);
  const wanted = hashThread() ?? [...threads.keys()][0];
  if (wanted) openThread(wanted);
  else show("start");
}

/** @param {string} path of the local stack, which plays the agent */
async function openConsole(path) {
  const { AgentConsole } = await import(CONSOLE);
  const opened = new AgentConsole({
    dom: { h, say, set },
    path,
    identity: () => ({ thread_id: panel.getAttribute("thread-id") ?? "", user_id: person()?.sub ?? "" }),
    answered: () => panel.refresh(),
  });
  at("work").append(opened.element);
  agentConsole = {
    begin: () => {
      opened.begin();
      if (newest?.threadId === panel.threadId) opened.listChanged(newest); // it came before the console
    },
    listChanged: (list) => opened.listChanged(list),
  };
}

// -- conversations ---------------------------------------------------------------------------------------

class SignInOver extends Error {}

/** @param {string} method @param {string} path @returns {Promise<any>} */
async function call(method, path) {
  const response = await fetch(path, { method, headers: { Authorization: `Bearer ${accessToken()}` }, cache: "no-store" });
  if (response.status === 401) throw new SignInOver();
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return response.json().catch(() => Promise.reject(new Error("The service gave no proper answer.")));
}

async function readThreads() {
  const found = new Map();
  let cursor = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = new URLSearchParams({ limit: "100", ...(cursor ? { cursor } : {}) });
    const answer = await call("GET", `/threads?${query}`);
    for (const { thread_id: id, title } of answer.threads) found.set(id, title || null);
    cursor = answer.next;
    if (!cursor) break;
  }
  return found;
}

async function newThread() {
  const { thread_id: id } = await call("POST", "/threads");
  openThread(id);
  panel.focus(); // the button that was pressed may be gone
}

/** @param {string} id */
function openThread(id) {
  if (!threads.has(id)) threads = new Map([[id, null], ...threads]);
  listThreads(id);
  if (hashThread() !== id) history.replaceState(null, "", `#thread=${encodeURIComponent(id)}`);
  at("conversation").hidden = false;
  panel.setAttribute("thread-id", id);
  showName(id);
  conversationName.begin(id, threads.get(id) ?? null, person()?.sub ?? "");
  agentConsole?.begin();
  show("work");
}

/** @param {string} open the conversation that is open */
function listThreads(open) {
  at("thread").replaceChildren(...[...threads].map(([id, name]) => h("option", { value: id }, name ?? shortName(id))));
  at("thread").value = open;
}

/** The panel heads a copy of the list with it. @param {string} open the conversation that is open */
function showName(open) {
  set(panel, "thread-title", threads.get(open) ?? null);
}

const conversationName = new ConversationName({
  ask: async () => accessToken(),
  named: (id, name) => {
    const open = at("thread").value;
    threads.set(id, name);
    listThreads(open);
    showName(open);
  },
  expired: askToSignIn,
});
at("thread").after(conversationName.button, conversationName.form, conversationName.said);

function hashThread() {
  return new URLSearchParams(location.hash.slice(1)).get("thread");
}

/** Minted ids are long and random: their beginning tells them apart. @param {string} id */
function shortName(id) {
  return id.length > 14 ? `${id.slice(0, 10)}…` : id;
}

// -- what is shown ---------------------------------------------------------------------------------------

/** @param {string} name */
function show(name) {
  for (const view of ["loading", "welcome", "start", "work"]) at(view).hidden = view !== name;
}

/** @param {string} text @param {string} [label] @param {(event: MouseEvent) => unknown} [way] */
function tell(text, label, way) {
  at("notice").replaceChildren(text, ...(label ? [" ", h("button", { type: "button", onclick: way }, label)] : []));
  at("notice").hidden = false;
  delete at("notice").dataset.code;
}

/** What is on the page stays there, half-written text included, until the person chooses to go. */
function askToSignIn() {
  if (!at("notice").hidden && at("notice").dataset.code === "unauthorized") return;
  tell("Your sign-in has run out. What you have written is kept.", "Sign in again", attempt(() => beginSignIn(settings)));
  at("notice").dataset.code = "unauthorized";
}

/** Runs what a press asks for; a failure is told, and the page stays as it was. @param {() => unknown} action */
function attempt(action) {
  return async (/** @type {MouseEvent} */ event) => {
    const button = /** @type {HTMLElement|null} */ (event.currentTarget);
    if (button?.getAttribute("aria-disabled") === "true") return; // a second press while the first is under way is no second wish
    if (button) set(button, "aria-disabled", "true"); // disabled for good would let focus fall
    try {
      await action();
      if (accessToken()) at("notice").hidden = true;
    } catch (error) {
      if (error instanceof SignInOver) askToSignIn();
      else tell(error instanceof TypeError ? "There is no connection." : /** @type {Error} */ (error).message);
    } finally {
      if (button) set(button, "aria-disabled", null);
    }
  };
}

at("sign-in").addEventListener("click", attempt(() => beginSignIn(settings)));
at("new-thread").addEventListener("click", attempt(newThread));
at("first-thread").addEventListener("click", attempt(newThread));
at("thread").addEventListener("change", (/** @type {any} */ event) => openThread(event.target.value));
at("sign-out").addEventListener("click", () => {
  forgetDrafts();
  signOut(settings);
});
window.addEventListener("hashchange", () => {
  const id = hashThread();
  if (id && person()) openThread(id);
});

start().catch((error) => {
  if (error instanceof SignInOver) {
    forgetToken();
    show("welcome");
    return askToSignIn();
  }
  if (at("work").hidden) show(settings && !accessToken() ? "welcome" : "none"); // a list that is there stays
  tell(error instanceof TypeError ? UNREACHABLE : error.message, "Try again", () => location.reload());
});
