/**
 * <preferences-panel thread-id="…" api-base="https://…"></preferences-panel>
 *
 * The user's half of a conversation's preferences. A host page needs this one import, and gives the panel a
 * way to get an access token:
 *
 *     import "https://…/assets/preferences-panel.js";
 *     document.querySelector("preferences-panel").tokenProvider = async ({ renew }) => "eyJ…";
 *
 * Attributes, also as the properties `threadId` and `apiBase`: `thread-id`; `api-base` (the page's own origin
 * when left out). `thread-title` heads a copy of the list that is saved as Markdown.
 * Property: `tokenProvider`, an async function; asked with `renew: true` after its last token was refused. Also
 * as `token-provider`, which frameworks set that take a property by the name in their templates.
 * Methods: `refresh()`, for a host that knows that the agent has just answered; `focus()`, to the field for a
 * new preference.
 * Events, both bubbling out of shadow trees:
 *   `preferences-changed` {threadId, revision, preferences, suggestions} with each newer list, the first one
 *   included; `suggestions` is how many of the agent's wait for the user;
 *   `preferences-error` {doing, code, status, message} with whatever failed. A host that asks for a new
 *   sign-in itself, at the code `unauthorized`, calls preventDefault(): then the panel says nothing of it.
 * Style: the custom properties of preferences-style.js, ::part(), and the page's own color-scheme.
 */
import { h, set, say, arrange, refreshTimes } from "./dom.js";
import { PreferencesClient } from "./preferences-client.js";
import { PreferencesStore, has } from "./preferences-store.js";
import { DraftForm, Message, lengthOf } from "./preferences-forms.js";
import { RowView } from "./preferences-row.js";
import { Menu } from "./preferences-menu.js";
import { drag } from "./preferences-drag.js";
import { Drafts } from "./preferences-drafts.js";
import { language, t } from "./preferences-texts.js";
import { sheet } from "./preferences-style.js";

const TICK = 15_000; // how often "3 minutes ago" is looked at
const GATHER = 800; // announcements within this time become one
const PATIENCE = 1_500; // how long a host may take to say what the panel needs
/**
 * @typedef {import("./preferences-client.js").Draft} Draft
 * @typedef {import("./preferences-client.js").Kind} Kind
 * @typedef {import("./preferences-client.js").List} List
 * @typedef {import("./preferences-client.js").Row} Row
 * @typedef {import("./preferences-client.js").RequestError} RequestError
 * @typedef {import("./preferences-client.js").TokenProvider} TokenProvider
 * @typedef {import("./preferences-store.js").ShownRow} ShownRow
 * @typedef {import("./preferences-history.js").HistoryView} HistoryView
 * @typedef {import("./preferences-suggestions.js").SuggestionView} SuggestionView
 * @typedef {{before: List|null, after: List, operation: import("./preferences-store.js").Operation|null}} Step
 * @typedef {"lock"|"order"|"suggestions"} Matter what a notice is about
 * @typedef {{added: string[], changed: string[], removed: string[], suggested: number}} News titles, and a number
 */

const LONG = 20; // rows from which on there is a search, and the fields for a new one stay in sight
const MOST = { rows: 100, characters: 8_000 }; // what a list may hold
const SCARCE = 0.8; // of it: from here on the heading tells
const NEWS_FOR = 45_000; // how long the last news stays in the heading

export class PreferencesPanel extends HTMLElement {
  static observedAttributes = ["api-base", "thread-id"];

  /** @type {PreferencesStore|null} */
  #store = null;
  /** @type {Drafts|null} */
  #drafts = null;
  /** @type {import("./preferences-row.js").Panel|null} */
  #rowsAsk = null; // what the rows of this conversation ask of the panel
  #opened = ""; // the conversation that is open, and where
  #resuming = false; // edits that were open when the person left wait for the list
  #isTold = false; // the host has taken it over to say that the sign-in has run out
  #missing = ""; // what the host has not set
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #missingTimer;
  /** @type {Map<string, RowView>} by the row's id */
  #rows = new Map();
  /** @type {Map<string, SuggestionView>} by the suggestion's id */
  #suggestions = new Map();
  /** @type {TokenProvider|null} */
  #token = null;
  /** @type {AbortController|null} */
  #connected = null; // ends what lives while the element is in a page
  #starting = false;
  #drawing = false;
  #unfolded = false; // whether each removed row is shown
  /** @type {RowView|null} */
  #moving = null; // the row whose buttons to move it are shown
  /** @type {Matter|null} */
  #matter = null; // what the notice is about
  /** @type {string[]} */
  #saying = [];
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #sayTimer;
  #news = noNews();
  #newsUntil = 0;
  // the parts of the page that change
  /** @type {DraftForm} */ #composer;
  /** @type {HistoryView|null} loaded when it is first looked at */
  #history = null;
  /** @type {typeof import("./preferences-suggestions.js").SuggestionView|null} loaded with the first suggestion */
  #Suggestion = null;
  /** @type {import("./preferences-changes.js").AgentChanges|null} loaded when the agent first changes something */
  #changes = null;
  /** @type {Message} */ #notice;
  /** @type {Menu} */ #menu;
  /** @type {HTMLInputElement} */ #search;
  /** @type {HTMLElement} */ #unsent;
  /** @type {HTMLElement} */ #count;
  /** @type {HTMLElement} */ #trouble;
  /** @type {HTMLElement} */ #frame;
  /** @type {HTMLElement} */ #empty;
  /** @type {HTMLElement} */ #live;
  /** @type {HTMLElement} */ #newsLine;
  /** @type {HTMLElement} */ #listTab;
  /** @type {HTMLElement} */ #historyTab;
  /** @type {HTMLElement} */ #listPage;
  /** @type {HTMLElement} */ #historyPage;
  /** @type {HTMLElement} */ #waiting;
  /** @type {HTMLElement} */ #waitingCount;
  /** @type {HTMLElement} */ #dismissAll;
  /** @type {{list: HTMLElement, element: HTMLElement}} */ #suggested;
  #sections = { hard: section("hard"), soft: section("soft") };
  #root = this.attachShadow({ mode: "open" });

  /** What the history and the agent's changes ask of the panel, and a host page has no use for. */
  #inside = {
    store: () => this.#store,
    announce: (/** @type {string} */ text) => this.#announce(text),
    failed: (/** @type {RequestError} */ error, /** @type {string} */ doing) => this.#failed(error, doing),
    row: (/** @type {string} */ id) => this.#rows.get(id),
    render: () => this.#render(),
    leave: (/** @type {{element: HTMLElement}} */ going) => this.#leave(going),
    reveal: () => {
      this.#open("list");
      this.#search.value = "";
      this.#draw();
    },
  };

  /**
   * What the rows of one conversation ask of the panel. They keep to it when another one is open by the time
   * that an answer comes.
   * @param {PreferencesStore} store
   * @param {Drafts} drafts
   * @returns {import("./preferences-row.js").Panel}
   */
  #insideOf(store, drafts) {
    const isHere = () => store === this.#store;
    return {
      store: () => store,
      lockEdits: () => this.#menu.lockEdits.checked,
      announce: (text) => isHere() && this.#announce(text),
      failed: (error, doing) => this.#failed(error, doing),
      render: () => isHere() && this.#render(),
      step: (id, by) => this.#step(id, by),
      moves: (view) => this.#showMovesOf(view),
      grab: (event, view) => this.#grab(event, view),
      leave: (view) => isHere() && this.#leave(view),
      keep: (id, edit) => drafts.keepEdit(id, edit),
      superseded: (matter) => this.#superseded(matter),
      write: (id, draft) => this.#rows.get(id)?.write(draft),
      removeAsSuggested: (suggestion) => this.#rows.get(suggestion.preference_id ?? "")?.removeAsSuggested(suggestion),
    };
  }

  constructor() {
    super();
    const root = this.#root;
    root.adoptedStyleSheets = [sheet]; // no style element: a strict Content-Security-Policy stands
    this.#build(root);
    // A page may have set the properties before this module was there
    for (const name of ["threadId", "apiBase", "tokenProvider", "token-provider"]) {
      if (!Object.hasOwn(this, name)) continue;
      const self = /** @type {Record<string, any>} */ (/** @type {unknown} */ (this));
      const early = self[name];
      delete self[name];
      self[name] = early;
    }
  }

  get threadId() {
    return this.getAttribute("thread-id");
  }

  set threadId(id) {
    set(this, "thread-id", id);
  }

  get apiBase() {
    return this.getAttribute("api-base");
  }

  set apiBase(address) {
    set(this, "api-base", address);
  }

  get tokenProvider() {
    return this.#token;
  }

  set tokenProvider(provider) {
    if (provider === this.#token) return;
    this.#token = provider;
    if (this.#store && provider) {
      this.#store.replaceProvider(provider);
    } else {
      this.#forget(); // nobody is signed in: what was read with the old one's tokens leaves the page
      this.#restart();
    }
  }

  /** What a template's `:token-provider` sets; without it, the function's source would become an attribute. */
  get "token-provider"() {
    return this.#token;
  }

  set "token-provider"(provider) {
    this.tokenProvider = provider;
  }

  /** To the field for a new preference. @override */
  focus() {
    this.#composer.title.focus();
  }

  /** Looks for changes now. */
  refresh() {
    return this.#store?.refresh();
  }

  // -- life ----------------------------------------------------------------------------------------------

  connectedCallback() {
    this.#connected = new AbortController();
    const { signal } = this.#connected;
    document.addEventListener("visibilitychange", () => this.#watch(), { signal });
    window.addEventListener("online", () => this.#watch(), { signal });
    const tick = setInterval(() => this.#tick(), TICK);
    signal.addEventListener("abort", () => clearInterval(tick));
    if (this.#store) this.#watch();
    this.#restart();
  }

  /** It may only be moved within the page, so it keeps all that it has. */
  disconnectedCallback() {
    this.#connected?.abort();
    this.#connected = null;
    this.#store?.sleep();
  }

  /** @param {string} _name @param {string|null} before @param {string|null} after */
  attributeChangedCallback(_name, before, after) {
    if (before !== after) this.#restart();
  }

  /** Begins with another conversation; several changes of attributes in a row are one beginning. */
  #restart() {
    if (this.#starting) return;
    this.#starting = true;
    queueMicrotask(() => {
      this.#starting = false;
      this.#begin();
    });
  }

  #begin() {
    const { threadId } = this;
    const base = this.apiBase ?? "";
    const place = JSON.stringify([base, threadId]);
    if (this.#store && place === this.#opened) return; // moved within the page, or there and back
    this.#forget();
    this.#lookForMissing();
    if (threadId && this.#token && this.#connected) {
      this.#opened = place;
      const drafts = (this.#drafts = new Drafts(`${base}/${threadId}`));
      const client = new PreferencesClient(base, threadId, this.#token, {
        reader: (sub) => {
          drafts.begin(sub);
          if (drafts === this.#drafts) this.#restore();
        },
        stranger: () => {
          if (drafts !== this.#drafts) return;
          this.#forget();
          this.#restart();
        },
      });
      const store = (this.#store = new PreferencesStore(client));
      this.#rowsAsk = this.#insideOf(store, drafts);
      /** @param {(detail: any) => void} listener @returns {(event: Event) => void} */
      const ours = (listener) => (event) => {
        if (store === this.#store) listener(/** @type {CustomEvent} */ (event).detail);
      };
      store.addEventListener("list", ours((detail) => this.#onList(threadId, detail)));
      store.addEventListener("lost", ours(() => this.#clear()));
      store.addEventListener("trouble", ours((error) => error && this.#failed(error, t.notRefreshed)));
      store.addEventListener("change", ours(() => this.#render()));
      this.#watch();
    }
    this.#render();
  }

  /** Lets go of the conversation, and of what was written in it: its drafts keep that. */
  #forget() {
    this.#store?.sleep();
    this.#store = this.#drafts = null;
    this.#clear();
    this.#isTold = false;
    this.#composer.message.clear();
    this.#composer.write({ title: "", subtitle: null, kind: "soft" });
    this.#unsent.replaceChildren();
    this.#resuming = false;
    this.#render();
  }

  /** Takes what was read of the conversation off the page. */
  #clear() {
    this.#rows.clear();
    this.#search.value = "";
    this.#suggestions.clear();
    this.#notice.clear();
    clearTimeout(this.#sayTimer);
    this.#saying = [];
    this.#news = noNews();
    say(this.#newsLine, "");
    this.#history?.forget();
    this.#changes?.forget();
    this.#render();
  }

  /** Shows what this person began in this conversation. */
  #restore() {
    const { composer, unsent, edits } = this.#drafts?.read() ?? {};
    if (composer && this.#composer.isEmpty) this.#composer.write(composer);
    this.#unsent.replaceChildren();
    for (const draft of unsent ?? []) this.#showUnsent(draft, t.notSaved);
    this.#resuming = Boolean(edits);
  }

  /** Says on the page and in the console what a host has left out, unless it comes in a moment. */
  #lookForMissing() {
    clearTimeout(this.#missingTimer);
    this.#missing = "";
    const missing = !this.threadId ? t.missingThread
      : !this.#token && t.missingToken;
    if (!missing || !this.#connected) return;
    this.#missingTimer = setTimeout(() => {
      if (!this.isConnected || !this.getClientRects().length) return; // nobody sees it, so nothing is amiss yet
      this.#missing = t.missing(missing);
      console.warn(`<preferences-panel>: ${this.#missing}`);
      this.#render();
    }, PATIENCE);
  }

  #watch() {
    if (document.visibilityState === "hidden") this.#store?.sleep();
    else this.#store?.wake();
  }

  /** Times move on, and the marks of what the agent has just done fade. */
  #tick() {
    refreshTimes(this.#root);
    if (Date.now() > this.#newsUntil) say(this.#newsLine, "");
    this.#render();
  }

  // -- building ------------------------------------------------------------------------------------------

  /** @param {ShadowRoot} root */
  #build(root) {
    this.#composer = new DraftForm({ titleHint: t.titleHint, submit: t.add, onsubmit: () => this.#add() });
    this.#composer.element.addEventListener("input", () => this.#keepComposer());
    this.#unsent = h("div", { class: "unsent" });
    this.#count = h("span", {});
    this.#newsLine = h("span", { class: "news", part: "news", "aria-hidden": "true" }); // heard from the live region
    this.#trouble = h("p", { class: "trouble", part: "trouble", role: "status", hidden: true });
    this.#notice = new Message();
    this.#menu = new Menu({
      lockAll: (locked) => this.#setAll(locked),
      announce: (text) => this.#announce(text),
      failed: (words) => this.#notice.show(words, [[t.dismiss, () => this.#notice.clear()]]),
    });
    this.#search = h("input", {
      type: "search", class: "field search", part: "field", "aria-label": t.search, placeholder: t.search, hidden: true, autocomplete: "off",
    });
    this.#search.addEventListener("input", () => this.#render());
    this.#empty = h("p", { class: "empty", hidden: true });
    this.#waitingCount = h("button", { type: "button", class: "plain", part: "button", onclick: () => this.#goToSuggestions() });
    this.#dismissAll = h("button", { type: "button", class: "plain", part: "button", "aria-label": t.dismissAllNamed, onclick: () => this.#dismissSuggestions() }, t.dismissAll);
    this.#waiting = h("p", { class: "waiting", part: "suggestions", hidden: true }, this.#waitingCount, this.#dismissAll);
    const suggestedList = h("ol", { class: "rows", role: "list", "aria-labelledby": "suggested-title" });
    const suggestedTitle = h("h3", { id: "suggested-title" }, t.suggestedByAgent);
    this.#suggested = { list: suggestedList, element: h("section", { class: "section", part: "section", "data-kind": "suggested", hidden: true }, suggestedTitle, suggestedList) };
    this.#live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.#listTab = this.#tab("list", t.list);
    this.#historyTab = this.#tab("history", t.history);
    this.#listPage = h(
      "div", { class: "page", id: "list", role: "tabpanel", "aria-labelledby": "list-tab" },
      this.#search, this.#empty, this.#sections.hard.element, this.#sections.soft.element, this.#suggested.element,
      h("section", { class: "composer", part: "composer" }, h("h3", {}, t.addOne), this.#unsent, this.#composer.element),
    );
    this.#historyPage = h("div", { class: "page", id: "history", role: "tabpanel", "aria-labelledby": "history-tab", hidden: true });
    for (const type of ["keydown", "keypress", "keyup"]) root.addEventListener(type, keepTyping);
    this.#frame = h("div", { class: "panel", part: "panel" },
      h("header", { class: "head", part: "header" },
        h("h2", {}, t.preferences),
        h("div", { class: "tabs", role: "tablist", "aria-label": t.view }, this.#listTab, this.#historyTab),
        this.#menu.element,
        h("p", { class: "count", part: "status" }, this.#count, this.#newsLine),
        this.#waiting),
      this.#trouble, this.#notice.element, this.#listPage, this.#historyPage, this.#live,
      h("p", { id: "move-help", hidden: true }, t.moveHelp),
    );
    root.append(this.#frame);
  }

  /** @param {"list"|"history"} name @param {string} words */
  #tab(name, words) {
    return h(
      "button",
      {
        type: "button", class: "tab", part: "tab", role: "tab", id: `${name}-tab`, "aria-controls": name,
        "aria-selected": String(name === "list"), tabindex: name === "list" ? 0 : -1,
        onclick: () => this.#open(name),
        onkeydown: (event) => {
          if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
          const other = name === "list" ? "history" : "list"; // there are but two: either arrow leads to the other
          this.#open(other);
          (other === "list" ? this.#listTab : this.#historyTab).focus();
        },
      },
      words,
    );
  }

  /** @param {"list"|"history"} name */
  #open(name) {
    /** @type {Array<[string, HTMLElement, HTMLElement]>} */
    const pages = [["list", this.#listTab, this.#listPage], ["history", this.#historyTab, this.#historyPage]];
    for (const [own, tab, page] of pages) {
      set(tab, "aria-selected", String(own === name));
      set(tab, "tabindex", own === name ? 0 : -1);
      page.hidden = own !== name;
    }
    this.#showHistory();
  }

  async #showHistory() {
    if (!this.#history && !this.#historyPage.hidden) {
      try {
        const { HistoryView } = await import("./preferences-history.js");
        if (!this.#history) this.#historyPage.append((this.#history = new HistoryView(this.#inside)).element);
      } catch {
        this.#notice.show(t.failed(t.notRead, t.why.offline), [[t.tryAgain, () => this.#showHistory()]]);
      }
    }
    this.#history?.show(!this.#historyPage.hidden);
  }

  // -- showing -------------------------------------------------------------------------------------------

  /** Brings the page up to date, once for however many reasons there were. */
  #render() {
    if (this.#drawing) return;
    this.#drawing = true;
    queueMicrotask(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw() {
    const store = this.#store;
    const rows = store?.rows ?? [];
    const shown = new Map(rows.map((row) => [row.id, row]));
    const known = rows.map(({ id }) => this.#view(id));
    if (this.#resuming && store?.loaded) this.#resumeEdits();
    for (const [id, view] of this.#rows) {
      const row = shown.get(id) ?? null;
      if (row || view.lingers) view.show(row);
      else this.#drop(id, view);
    }
    this.#find(rows);
    const views = this.#withLingering(known);
    this.#foldRemoved();
    this.#changes?.draw();
    this.#arrange(views);
    this.#drawSuggestions(rows);
    this.#drawStatus(rows);
  }

  /** Each at its row; additions in a section of their own. @param {ShownRow[]} rows */
  #drawSuggestions(rows) {
    const waiting = this.#store?.suggestions ?? [];
    if (waiting.length && !this.#Suggestion) return void this.#loadSuggestions();
    const ids = new Set(waiting.map(({ id }) => id));
    const View = /** @type {typeof import("./preferences-suggestions.js").SuggestionView} */ (this.#Suggestion);
    for (const each of waiting) {
      const view = this.#suggestions.get(each.id) ?? new View(each, /** @type {import("./preferences-row.js").Panel} */ (this.#rowsAsk));
      this.#suggestions.set(each.id, view);
      view.show(each.pending !== null);
    }
    for (const [id, view] of this.#suggestions) if (!ids.has(id) && !view.lingers) this.#dropSuggestion(id, view, rows);
    const views = [...this.#suggestions.values()];
    for (const [id, { suggested }] of this.#rows) {
      arrange(suggested, views.filter(({ suggestion }) => suggestion.preference_id === id).map(({ element }) => element));
    }
    const additions = views.filter(({ suggestion }) => suggestion.action === "add").map(({ element }) => element);
    arrange(this.#suggested.list, additions);
    this.#suggested.element.hidden = additions.length === 0;
    this.#waiting.hidden = ids.size === 0;
    this.#dismissAll.hidden = ids.size < 2;
    say(this.#waitingCount, t.suggestions(ids.size));
  }

  async #loadSuggestions() {
    try {
      this.#Suggestion = (await import("./preferences-suggestions.js")).SuggestionView;
      this.#render();
    } catch {
      // there is no connection: it is tried again when something changes, and by the clock
    }
  }

  /** Focus that was in it goes to its row; of an addition, to the new row, or to what comes next.
   * @param {string} id @param {SuggestionView} view @param {ShownRow[]} rows */
  #dropSuggestion(id, view, rows) {
    const { preference_id: target, after } = view.suggestion;
    const held = view.element.contains(this.#root.activeElement);
    this.#suggestions.delete(id);
    if (!held) return;
    const row = this.#rows.get(target ?? rows.find((each) => after && has(each, after))?.id ?? "");
    const next = [...this.#suggestions.values()].find(({ suggestion }) => suggestion.action === "add");
    if (row?.face === "reading") row.editButton.focus();
    else if (next) next.focus();
    else this.#composer.title.focus();
  }

  #goToSuggestions() {
    this.#open("list");
    const first = this.#root.querySelector(".suggestion");
    [...this.#suggestions.values()].find(({ element }) => element === first)?.focus();
  }

  async #dismissSuggestions() {
    const focused = this.#root.activeElement;
    this.#notice.clear();
    try {
      await this.#store?.dismissAll();
      if (focused === this.#dismissAll) this.#composer.title.focus(); // it is gone with them
      this.#announce(t.allDismissed);
    } catch (error) {
      this.#tellFailure(/** @type {RequestError} */ (error), t.notDismissed, () => this.#dismissSuggestions(), "suggestions");
    }
  }

  /** @param {RowView[]} views */
  #arrange(views) {
    const focused = /** @type {HTMLElement|null} */ (this.#root.activeElement);
    for (const [kind, { element, list }] of Object.entries(this.#sections)) {
      const own = views.filter((view) => view.section === kind);
      own.forEach((view, at) => (view.after = own[at - 1]?.id ?? null));
      const elements = this.#changes?.among(kind, own) ?? own.map((view) => view.element);
      arrange(list, elements);
      element.hidden = !elements.some((each) => !each.hidden && !each.hasAttribute("data-filtered"));
    }
    // A row that went over to the other kind was moved, and a move blurs
    if (focused?.isConnected && this.#root.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** The row's, as long as the conversation is open. @param {string} id */
  #view(id) {
    let view = this.#rows.get(id);
    if (!view) {
      view = new RowView(id, /** @type {import("./preferences-row.js").Panel} */ (this.#rowsAsk));
      this.#rows.set(id, view);
    }
    return view;
  }

  #resumeEdits() {
    this.#resuming = false;
    for (const [id, { base, draft }] of Object.entries(this.#drafts?.read().edits ?? {})) this.#view(id).resume(base, draft);
  }

  /** @param {string} id @param {RowView} view */
  #drop(id, view) {
    this.#leave(view);
    view.element.remove();
    this.#rows.delete(id);
  }

  /** Rows that the list no longer has, and that still have something to say, stay where they were. @param {RowView[]} views */
  #withLingering(views) {
    const present = new Set(views);
    for (const view of this.#rows.values()) {
      if (present.has(view)) continue;
      const before = views.findIndex((other) => other.id === view.after);
      const first = views.findIndex((other) => other.section === view.section);
      views.splice(before >= 0 ? before + 1 : first >= 0 ? first : views.length, 0, view);
      present.add(view);
    }
    return views;
  }

  /** A long list can be searched: the rows that do not have the words are out of sight. @param {ShownRow[]} rows */
  #find(rows) {
    const isLong = rows.length >= LONG;
    if (!isLong) this.#search.value = "";
    this.#search.hidden = !isLong;
    set(this.#frame, "data-long", isLong);
    const words = folded(this.#search.value).split(/\s+/).filter(Boolean);
    for (const { id, title, subtitle } of rows) {
      const text = folded(`${title} ${subtitle ?? ""}`);
      this.#view(id).filter(!words.every((word) => text.includes(word)));
    }
  }

  /** Of several removed rows the last one offers its way back, and leads to the others. */
  #foldRemoved() {
    const removed = [...this.#rows.values()].filter((view) => view.face === "removed").sort((one, other) => one.settled - other.settled);
    const last = removed.pop();
    if (!removed.length) this.#unfolded = false;
    for (const view of removed) view.fold(!this.#unfolded);
    last?.fold(false, this.#unfolded ? 0 : removed.length, () => {
      this.#unfolded = true;
      this.#draw();
    });
  }

  /** @param {ShownRow[]} rows */
  #drawStatus(rows) {
    const trouble = this.#store?.trouble ?? null;
    const isLoaded = Boolean(this.#store?.loaded);
    const held = rows.filter((row) => row.held).length;
    const found = rows.filter(({ id }) => !this.#view(id).filtered).length;
    say(this.#count, isLoaded ? tally(rows, held, found) : "");
    this.#menu.update(rows.filter((row) => !row.unsaved));
    this.#empty.hidden = this.#rows.size > 0 || (!isLoaded && trouble !== null);
    say(this.#empty, isLoaded ? t.empty : this.#missing || t.loading);
    this.#drawTrouble(trouble?.code === "unauthorized" && this.#isTold ? null : trouble);
  }

  /** @param {RequestError|null} trouble */
  #drawTrouble(trouble) {
    if (this.#trouble.hidden === !trouble && this.#trouble.dataset.code === (trouble?.code ?? "")) return;
    this.#trouble.hidden = !trouble;
    this.#trouble.dataset.code = trouble?.code ?? "";
    if (!trouble) return this.#trouble.replaceChildren();
    const lost = trouble.code === "not_found";
    const words = lost ? t.lost : trouble.code === "unauthorized" ? t.signedOut : t.stale(trouble.message);
    this.#trouble.replaceChildren(words, " ", h("button", { type: "button", class: "plain", onclick: () => this.refresh() }, t.tryNow));
  }

  // -- what the person does ------------------------------------------------------------------------------

  /** The row stands in the list at once, so the fields are free for the next one at once. */
  #add() {
    const composer = this.#composer;
    if (!this.#store) return;
    const draft = composer.read();
    composer.write({ ...draft, title: "", subtitle: null });
    this.#search.value = ""; // what is new is seen
    this.#keepComposer();
    if (composer.element.contains(this.#root.activeElement)) composer.title.focus();
    this.#send(draft);
  }

  /** @param {Draft} draft */
  async #send(draft) {
    const store = this.#store;
    const drafts = this.#drafts;
    if (!store || !drafts) return;
    const lock = this.#menu.lockEdits.checked;
    try {
      const list = await store.add(draft);
      const made = list.outcomes?.[0];
      if (lock && made?.outcome === "recorded") this.#lock(made.id, store);
      if (store !== this.#store) return; // another conversation is open by now
      if (made?.outcome === "duplicate") this.#composer.message.show(t.duplicate(made.position), [], "calm");
      else this.#announce(t.addedAs(made?.position ?? list.preferences.length));
    } catch (error) {
      this.#notSent(/** @type {RequestError} */ (error), draft, store, drafts);
    }
  }

  /** @param {string} id @param {PreferencesStore} store */
  async #lock(id, store) {
    try {
      await store.lock(id, true);
    } catch (error) {
      this.#tellFailure(/** @type {RequestError} */ (error), t.notLocked, () => this.#lock(id, store), "lock");
    }
  }

  /** The text comes back into the fields, or waits above them where the person has gone on.
   * @param {RequestError} error @param {Draft} draft @param {PreferencesStore} store @param {Drafts} drafts */
  #notSent(error, draft, store, drafts) {
    const isTold = this.#failed(error, t.notSaved);
    const isHere = store === this.#store;
    if (isHere && this.#composer.isEmpty) {
      this.#composer.write(draft);
      this.#keepComposer();
      if (!isTold) this.#composer.refuse(error, () => this.#composer.element.requestSubmit());
      error.arrived?.then(() => this.#hasArrived(draft, error, store));
      return;
    }
    drafts.keep({ unsent: [...(drafts.read().unsent ?? []), draft] });
    if (isHere) this.#showUnsent(draft, `${t.notSaved}, ${error.message}`, error.arrived);
  }

  /** What was lost on the way back is in the list: its text need not be sent again.
   * @param {Draft} draft @param {RequestError} error @param {PreferencesStore} store */
  #hasArrived(draft, error, store) {
    if (!error.unsure || store !== this.#store || JSON.stringify(this.#composer.read()) !== JSON.stringify(draft)) return;
    this.#composer.write({ ...draft, title: "", subtitle: null });
    this.#keepComposer();
    this.#announce(t.added);
  }

  /** @param {Draft} draft @param {string} why @param {Promise<unknown>} [arrived] */
  #showUnsent(draft, why, arrived) {
    const message = new Message();
    const drafts = this.#drafts;
    const letGo = () => {
      message.element.remove();
      const unsent = drafts?.read().unsent ?? [];
      const at = unsent.findIndex((each) => each.title === draft.title && each.subtitle === draft.subtitle);
      drafts?.keep({ unsent: unsent.filter((_, place) => place !== at) });
    };
    const again = () => {
      letGo();
      this.#send(draft);
    };
    message.show(`${why}: ${draft.title}`, [[t.tryAgain, again], [t.discard, letGo]]);
    arrived?.then(() => message.element.isConnected && letGo());
    this.#unsent.append(message.element);
  }

  #keepComposer() {
    this.#drafts?.keep({ composer: this.#composer.isEmpty ? null : this.#composer.read() });
  }

  /** @param {boolean} locked */
  async #setAll(locked) {
    this.#notice.clear();
    for (const view of this.#rows.values()) view.message.clear(); // what failed of one lock is asked for no more
    try {
      await this.#store?.lockAll(locked);
      this.#announce(locked ? t.allLocked : t.allUnlocked);
    } catch (error) {
      this.#tellFailure(/** @type {RequestError} */ (error), locked ? t.notLocked : t.notUnlocked, () => this.#setAll(locked), "lock");
    }
  }

  /** Moves a row by one among those of its kind. @param {string} id @param {-1|1|number} by */
  #step(id, by) {
    const own = this.#neighbours(id);
    const target = own[own.findIndex((row) => row.id === id) + by];
    if (target) this.#place(id, target.id, by < 0 ? "before" : "after");
    else this.#announce(by < 0 ? t.first : t.last);
  }

  /** One row at a time shows its buttons. @param {RowView} view */
  #showMovesOf(view) {
    if (this.#moving !== view) this.#moving?.hideMoves();
    this.#moving = view;
  }

  /** Begins to drag a row. @param {PointerEvent} event @param {RowView} view */
  #grab(event, view) {
    drag(event, view.element, (target, side) => {
      const other = [...this.#rows.values()].find((row) => row.element === target);
      if (other) this.#place(view.id, other.id, side);
    });
  }

  get #saved() {
    return (this.#store?.rows ?? []).filter((row) => !row.unsaved);
  }

  /** @param {string} id */
  #neighbours(id) {
    const rows = this.#saved;
    const kind = rows.find((row) => row.id === id)?.kind;
    return rows.filter((row) => row.kind === kind);
  }

  /** @param {string} id @param {string} targetId @param {"before"|"after"} side */
  #place(id, targetId, side) {
    const before = this.#saved.map((row) => row.id);
    const ids = before.filter((each) => each !== id);
    const at = ids.indexOf(targetId);
    if (at < 0 || !before.includes(id)) return; // either may have gone since the press
    ids.splice(side === "after" ? at + 1 : at, 0, id);
    if (ids.every((each, place) => each === before[place])) return;
    this.#announce(t.place(ids.indexOf(id) + 1, ids.length), true);
    this.#order(ids);
  }

  /** @param {string[]} ids */
  async #order(ids) {
    this.#notice.clear();
    try {
      await this.#store?.order(ids);
    } catch (error) {
      this.#tellFailure(/** @type {RequestError} */ (error), t.notMoved, () => this.#order(ids), "order");
    }
  }

  /** Where focus goes when a row goes: to the next one, the one before, or the new preference's field. @param {{element: HTMLElement}} view */
  #leave(view) {
    if (!view.element.contains(this.#root.activeElement)) return;
    const all = Object.values(this.#sections).flatMap(({ list }) => [...list.children]);
    const at = all.indexOf(view.element);
    const seen = new Map([...this.#rows.values()].filter((each) => each !== view && each.face === "reading" && !each.filtered).map((each) => [each.element, each]));
    const next = [...all.slice(at + 1), ...all.slice(0, Math.max(at, 0)).reverse()].map((element) => seen.get(/** @type {HTMLLIElement} */ (element))).find(Boolean);
    (next ? next.editButton : this.#composer.title).focus();
  }

  // -- what the list did ---------------------------------------------------------------------------------

  /** @param {string} threadId @param {Step} step */
  #onList(threadId, { before, after, operation }) {
    const detail = { threadId, revision: after.revision, preferences: after.preferences, suggestions: after.suggestions.length };
    this.dispatchEvent(new CustomEvent("preferences-changed", { detail, bubbles: true, composed: true }));
    this.#history?.refresh();
    if (!before) return;
    const known = new Map(before.preferences.map((row) => [row.id, row]));
    const news = this.#news;
    /** @type {Row[]} */
    const touched = [];
    for (const row of after.preferences) {
      const old = known.get(row.id);
      known.delete(row.id);
      if (row.updated_by !== "agent" || old?.revision === row.revision) continue;
      news[old ? "changed" : "added"].push(row.title);
      if (old) touched.push(old);
    }
    const waited = new Set(before.suggestions.map(({ id }) => id));
    news.suggested += after.suggestions.filter(({ id }) => !waited.has(id)).length;
    // What the person just did here is no news
    if (operation?.removes) known.delete(operation.removes);
    const removed = operation?.undoes ? [] : [...known.values()];
    news.removed.push(...removed.map(({ title }) => title));
    if (touched.length || removed.length) this.#tellChanges(before, [...touched, ...removed]);
    this.#gather();
  }

  /** @param {List} before @param {Row[]} rows of it that the agent changed, or that somebody removed */
  async #tellChanges(before, rows) {
    const store = this.#store;
    // Without a connection, the rows are marked, and the history will have it
    const file = await import("./preferences-changes.js").catch(() => null);
    if (!file || store !== this.#store) return;
    if (!this.#changes) {
      this.#changes = new file.AgentChanges({ ...this.#inside, frame: this.#frame });
      this.#trouble.before(this.#changes.line);
    }
    this.#changes.learn(before, rows);
  }

  /** @param {RequestError} error
   * @param {string} doing what did not come about
   * @returns {boolean} whether it is told once for the whole panel, so that no place need repeat it */
  #failed(error, doing) {
    if (!error.code) console.error(error); // no refusal but a fault of ours
    const detail = { doing, code: error.code ?? "fault", status: error.status ?? 0, message: error.message };
    const event = new CustomEvent("preferences-error", { detail, bubbles: true, composed: true, cancelable: true });
    const isTold = !this.dispatchEvent(event);
    if (error.code !== "unauthorized") return false;
    this.#isTold = isTold;
    return true;
  }

  /**
   * For what concerns no single row or field.
   * @param {RequestError} error @param {string} doing @param {() => void} again @param {Matter} matter
   */
  #tellFailure(error, doing, again, matter) {
    if (this.#failed(error, doing)) return;
    this.#matter = matter;
    /** @type {Array<[string, () => void]>} */
    const ways = [[t.tryAgain, again], [t.dismiss, () => this.#notice.clear()]];
    this.#notice.show(t.failed(doing, error.message), ways, "trouble", error.arrived);
  }

  /** The person asks for something else in this matter: what failed before is not offered again. @param {string} matter */
  #superseded(matter) {
    if (this.#matter === matter) this.#notice.clear();
  }

  /** Says something politely, together with what else there is to say just now. @param {string} text */
  #announce(text, only = false) {
    if (only) this.#saying = [];
    this.#saying.push(text);
    this.#gather();
  }

  #gather() {
    clearTimeout(this.#sayTimer);
    this.#sayTimer = setTimeout(() => {
      const news = newsOf(this.#news);
      const text = [...this.#saying, ...news].join(" ");
      if (news.length) {
        say(this.#newsLine, news.join(" "));
        this.#newsUntil = Date.now() + NEWS_FOR;
      }
      this.#saying = [];
      this.#news = noNews();
      if (!text) return;
      // The same words twice in a row are still two announcements
      say(this.#live, this.#live.textContent === text ? `${text}\u00a0` : text);
    }, GATHER);
  }
}

/** What is typed into a field is no hot key of the page around it. @param {Event} pressed */
function keepTyping(pressed) {
  const event = /** @type {KeyboardEvent} */ (pressed);
  const isChord = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
  if (/** @type {Element} */ (event.target).matches(".field") && !isChord && !/^(Escape|Tab|F\d+)$/.test(event.key)) event.stopPropagation();
}

/** @param {Kind} kind */
function section(kind) {
  const list = h("ol", { class: "rows", role: "list", part: "list", "aria-labelledby": `${kind}-title` });
  const title = h("h3", { id: `${kind}-title` }, h("span", { class: `mark mark-${kind}`, "aria-hidden": "true" }), t.kinds[kind]);
  return { list, element: h("section", { class: "section", part: "section", "data-kind": kind, hidden: true }, title, list) };
}

/** What the heading says: how many there are, and how much a list may hold where that gets scarce.
 * @param {ShownRow[]} rows @param {number} locked @param {number} found by the search */
function tally(rows, locked, found) {
  const count = rows.length;
  if (!count) return t.none;
  const characters = rows.reduce((sum, { title, subtitle }) => sum + lengthOf(title) + lengthOf(subtitle), 0);
  const parts = [count >= MOST.rows * SCARCE ? t.countOf(count, MOST.rows) : t.count(count), t.locks(locked)];
  if (characters >= MOST.characters * SCARCE) parts.push(t.characters(number(characters), number(MOST.characters)));
  if (found < count) parts.push(t.found(found));
  return parts.join(", ");
}

/** @param {number} value */
const number = (value) => value.toLocaleString(language);

/** Words as they are compared: without case, and without accents. @param {string} text */
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** @returns {News} */
const noNews = () => ({ added: [], changed: [], removed: [], suggested: 0 });

/** @param {News} news */
function newsOf({ added, changed, removed, suggested }) {
  return [added.length || changed.length ? t.agentDid(added, changed) : "", removed.length ? t.wereRemoved(removed) : "", suggested ? t.agentSuggests(suggested) : ""].filter(Boolean);
}

// A page may load this from two addresses: the first copy serves
if (!customElements.get("preferences-panel")) customElements.define("preferences-panel", PreferencesPanel);
