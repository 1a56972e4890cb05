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
 * when left out).
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
import { DraftForm, Message, KINDS } from "./preferences-forms.js";
import { RowView } from "./preferences-row.js";
import { SuggestionView } from "./preferences-suggestions.js";
import { HistoryView } from "./preferences-history.js";
import { drag } from "./preferences-drag.js";
import { Drafts } from "./preferences-drafts.js";
import { sheet } from "./preferences-style.js";

const LOCK_EDITS = "preferences-panel.lock-edits";
const TICK = 15_000; // how often "3 minutes ago" is looked at
const GATHER = 800; // announcements within this time become one
const PATIENCE = 1_500; // how long a host may take to say what the panel needs
const NO_NEWS = { added: 0, changed: 0, removed: 0, suggested: 0 };
const NEWS_FOR = 45_000; // how long the last news stays in the heading

export class PreferencesPanel extends HTMLElement {
  static observedAttributes = ["api-base", "thread-id"];

  #store = null;
  #drafts = null;
  #rowsAsk = null; // what the rows of this conversation ask of the panel
  #opened = ""; // the conversation that is open, and where
  #resuming = false; // edits that were open when the person left wait for the list
  #isTold = false; // the host has taken it over to say that the sign-in has run out
  #missing = ""; // what the host has not set
  #missingTimer = 0;
  #rows = new Map(); // row id → RowView
  #suggestions = new Map(); // suggestion id → SuggestionView
  #token = null;
  #connected = null; // the AbortController of what lives while the element is in a page
  #starting = false;
  #drawing = false;
  #matter = ""; // what the notice is about: "lock" or "order"
  #saying = [];
  #sayTimer = 0;
  #news = { ...NO_NEWS };
  #newsUntil = 0;
  // the parts of the page that change
  #composer; #unsent; #history; #count; #trouble; #notice; #lockEdits; #lockAll; #unlockAll; #empty; #live; #newsLine;
  #waiting; #waitingCount; #dismissAll; #suggested;
  #listTab; #historyTab; #listPage; #historyPage;
  #sections = {};

  /** What the history asks of the panel, and a host page has no use for. */
  #inside = {
    store: () => this.#store,
    announce: (text) => this.#announce(text),
    failed: (error, doing) => this.#failed(error, doing),
  };

  /**
   * What the rows of one conversation ask of the panel. They keep to it when another one is open by the time
   * that an answer comes.
   * @returns {import("./preferences-row.js").Panel}
   */
  #insideOf(store, drafts) {
    const isHere = () => store === this.#store;
    return {
      store: () => store,
      lockEdits: () => this.#lockEdits.checked,
      announce: (text) => isHere() && this.#announce(text),
      failed: (error, doing) => this.#failed(error, doing),
      render: () => isHere() && this.#render(),
      step: (id, by) => this.#step(id, by),
      grab: (event, view) => this.#grab(event, view),
      leave: (view) => isHere() && this.#leave(view),
      keep: (id, edit) => drafts.keepEdit(id, edit),
      superseded: (matter) => this.#superseded(matter),
      write: (id, draft) => this.#rows.get(id)?.write(draft),
      removeAsSuggested: (suggestion) => this.#rows.get(suggestion.preference_id)?.removeAsSuggested(suggestion),
    };
  }

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet]; // no style element: a strict Content-Security-Policy stands
    this.#build(root);
    // A page may have set the properties before this module was there
    for (const name of ["threadId", "apiBase", "tokenProvider", "token-provider"]) {
      if (!Object.hasOwn(this, name)) continue;
      const early = this[name];
      delete this[name];
      this[name] = early;
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
    if (this.#store && provider) this.#store.replaceProvider(provider);
    else {
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
      const ours = (listener) => (event) => store === this.#store && listener(event.detail);
      store.addEventListener("list", ours((detail) => this.#onList(threadId, detail)));
      store.addEventListener("lost", ours(() => this.#clear()));
      store.addEventListener("trouble", ours((error) => error && this.#failed(error, "Not refreshed")));
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
    this.#suggestions.clear();
    this.#notice.clear();
    clearTimeout(this.#sayTimer);
    this.#saying = [];
    this.#news = { ...NO_NEWS };
    say(this.#newsLine, "");
    this.#history.forget();
    this.#render();
  }

  /** Shows what this person began in this conversation. */
  #restore() {
    const { composer, unsent, edits } = this.#drafts.read();
    if (composer && this.#composer.isEmpty) this.#composer.write(composer);
    this.#unsent.replaceChildren();
    for (const draft of unsent ?? []) this.#showUnsent(draft, "Not saved");
    this.#resuming = Boolean(edits);
  }

  /** Says on the page and in the console what a host has left out, unless it comes in a moment. */
  #lookForMissing() {
    clearTimeout(this.#missingTimer);
    this.#missing = "";
    const missing = !this.threadId ? "the attribute thread-id, a conversation's id"
      : !this.#token && "the property tokenProvider, a function that gives an access token";
    if (!missing || !this.#connected) return;
    this.#missingTimer = setTimeout(() => {
      if (!this.isConnected || !this.getClientRects().length) return; // nobody sees it, so nothing is amiss yet
      this.#missing = `This panel needs ${missing}.`;
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
    refreshTimes(this.shadowRoot);
    if (Date.now() > this.#newsUntil) say(this.#newsLine, "");
    this.#render();
  }

  // -- building ------------------------------------------------------------------------------------------

  #build(root) {
    this.#composer = new DraftForm({ titleHint: "Something the agent should know", submit: "Add", onsubmit: () => this.#add() });
    this.#composer.element.addEventListener("input", () => this.#keepComposer());
    this.#unsent = h("div", { class: "unsent" });
    this.#history = new HistoryView(this.#inside);
    this.#count = h("span", {});
    this.#newsLine = h("span", { class: "news", part: "news", "aria-hidden": "true" }); // heard from the live region
    this.#trouble = h("p", { class: "trouble", part: "trouble", role: "status", hidden: true });
    this.#notice = new Message();
    this.#lockEdits = h("input", { type: "checkbox", checked: recall(), onchange: () => remember(this.#lockEdits.checked) });
    this.#lockAll = h("button", { type: "button", class: "plain", part: "button", onclick: () => this.#pressAll(true) }, "Lock all");
    this.#unlockAll = h("button", { type: "button", class: "plain", part: "button", onclick: () => this.#pressAll(false) }, "Unlock all");
    this.#empty = h("p", { class: "empty", hidden: true });
    this.#waitingCount = h("button", { type: "button", class: "plain", part: "button", onclick: () => this.#goToSuggestions() });
    this.#dismissAll = h("button", { type: "button", class: "plain", part: "button", "aria-label": "Dismiss all suggestions", onclick: () => this.#dismissSuggestions() }, "Dismiss all");
    this.#waiting = h("p", { class: "waiting", part: "suggestions", hidden: true }, this.#waitingCount, this.#dismissAll);
    const suggestedList = h("ol", { class: "rows", role: "list", "aria-labelledby": "suggested-title" });
    const suggestedTitle = h("h3", { id: "suggested-title" }, "Suggested by the agent");
    this.#suggested = { list: suggestedList, element: h("section", { class: "section", part: "section", "data-kind": "suggested", hidden: true }, suggestedTitle, suggestedList) };
    for (const kind of Object.keys(KINDS)) this.#sections[kind] = section(kind);
    this.#live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.#listTab = this.#tab("list", "List");
    this.#historyTab = this.#tab("history", "History");
    this.#listPage = h(
      "div", { class: "page", id: "list", role: "tabpanel", "aria-labelledby": "list-tab" },
      h("div", { class: "toolbar", part: "toolbar" },
        h("label", { class: "choice" }, this.#lockEdits, "Lock what I write"),
        h("span", { class: "all" }, this.#lockAll, this.#unlockAll)),
      this.#empty, this.#sections.hard.element, this.#sections.soft.element, this.#suggested.element,
      h("section", { class: "composer", part: "composer" }, h("h3", {}, "Add a preference"), this.#unsent, this.#composer.element),
    );
    this.#historyPage = h("div", { class: "page", id: "history", role: "tabpanel", "aria-labelledby": "history-tab", hidden: true }, this.#history.element);
    for (const type of ["keydown", "keypress", "keyup"]) root.addEventListener(type, keepTyping);
    root.append(
      h("div", { class: "panel", part: "panel" },
        h("header", { class: "head", part: "header" },
          h("h2", {}, "Preferences"),
          h("div", { class: "tabs", role: "tablist", "aria-label": "View" }, this.#listTab, this.#historyTab),
          h("p", { class: "count", part: "status" }, this.#count, this.#newsLine),
          this.#waiting),
        this.#trouble, this.#notice.element, this.#listPage, this.#historyPage, this.#live,
        h("p", { id: "move-help", hidden: true }, "Arrow up and arrow down move it; pressing shows buttons.")),
    );
  }

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

  #open(name) {
    for (const [own, tab, page] of [["list", this.#listTab, this.#listPage], ["history", this.#historyTab, this.#historyPage]]) {
      set(tab, "aria-selected", String(own === name));
      set(tab, "tabindex", own === name ? 0 : -1);
      page.hidden = own !== name;
    }
    this.#history.show(name === "history");
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
    for (const row of rows) if (!this.#rows.has(row.id)) this.#rows.set(row.id, new RowView(row.id, this.#rowsAsk));
    if (this.#resuming && store?.loaded) this.#resumeEdits();
    for (const [id, view] of this.#rows) {
      if (shown.has(id)) view.show(shown.get(id));
      else if (view.lingers) view.show(null);
      else this.#drop(id, view);
    }
    this.#arrange(this.#withLingering(rows.map((row) => this.#rows.get(row.id))));
    this.#drawSuggestions(rows);
    this.#drawStatus(rows);
  }

  /** Each at its row; additions in a section of their own. */
  #drawSuggestions(rows) {
    const waiting = this.#store?.suggestions ?? [];
    const ids = new Set(waiting.map(({ id }) => id));
    for (const each of waiting) {
      if (!this.#suggestions.has(each.id)) this.#suggestions.set(each.id, new SuggestionView(each, this.#rowsAsk));
      this.#suggestions.get(each.id).show(each.pending !== null);
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
    say(this.#waitingCount, ids.size === 1 ? "1 suggestion" : `${ids.size} suggestions`);
  }

  /** Focus that was in it goes to its row; of an addition, to the new row, or to what comes next. */
  #dropSuggestion(id, view, rows) {
    const { preference_id: target, after } = view.suggestion;
    const held = view.element.contains(this.shadowRoot.activeElement);
    this.#suggestions.delete(id);
    if (!held) return;
    const row = this.#rows.get(target ?? rows.find((each) => has(each, after))?.id);
    const next = [...this.#suggestions.values()].find(({ suggestion }) => suggestion.action === "add");
    if (row?.face === "reading") row.editButton.focus();
    else if (next) next.focus();
    else this.#composer.title.focus();
  }

  #goToSuggestions() {
    this.#open("list");
    const first = this.shadowRoot.querySelector(".suggestion");
    [...this.#suggestions.values()].find(({ element }) => element === first)?.focus();
  }

  async #dismissSuggestions() {
    const focused = this.shadowRoot.activeElement;
    this.#notice.clear();
    try {
      await this.#store.dismissAll();
      if (focused === this.#dismissAll) this.#composer.title.focus(); // it is gone with them
      this.#announce("All suggestions are dismissed.");
    } catch (error) {
      this.#tellFailure(error, "Not dismissed", () => this.#dismissSuggestions(), "suggestions");
    }
  }

  #arrange(views) {
    const focused = this.shadowRoot.activeElement;
    for (const [kind, { element, list }] of Object.entries(this.#sections)) {
      const own = views.filter((view) => view.section === kind);
      own.forEach((view, at) => (view.after = own[at - 1]?.id ?? null));
      arrange(list, own.map((view) => view.element));
      element.hidden = own.length === 0;
    }
    // A row that went over to the other kind was moved, and a move blurs
    if (focused?.isConnected && this.shadowRoot.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  #resumeEdits() {
    this.#resuming = false;
    for (const [id, { base, draft }] of Object.entries(this.#drafts.read().edits ?? {})) {
      if (!this.#rows.has(id)) this.#rows.set(id, new RowView(id, this.#rowsAsk));
      this.#rows.get(id).resume(base, draft);
    }
  }

  #drop(id, view) {
    this.#leave(view);
    view.element.remove();
    this.#rows.delete(id);
  }

  /** Rows that the list no longer has, and that still have something to say, stay where they were. */
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

  #drawStatus(rows) {
    const trouble = this.#store?.trouble ?? null;
    const isLoaded = Boolean(this.#store?.loaded);
    const locked = rows.filter((row) => row.locked).length;
    const held = rows.filter((row) => row.held).length;
    say(this.#count, isLoaded ? tally(rows.length, held) : "");
    set(this.#lockAll, "aria-disabled", locked === rows.length ? "true" : null);
    set(this.#unlockAll, "aria-disabled", locked === 0 ? "true" : null);
    this.#empty.hidden = this.#rows.size > 0 || (!isLoaded && trouble !== null);
    say(this.#empty, isLoaded
      ? "Nothing here yet. What the agent understands of your wishes appears here, and you can write the first one yourself."
      : this.#missing || "Loading…");
    this.#drawTrouble(trouble?.code === "unauthorized" && this.#isTold ? null : trouble);
  }

  #drawTrouble(trouble) {
    if (this.#trouble.hidden === !trouble && this.#trouble.dataset.code === (trouble?.code ?? "")) return;
    this.#trouble.hidden = !trouble;
    this.#trouble.dataset.code = trouble?.code ?? "";
    if (!trouble) return this.#trouble.replaceChildren();
    const lost = trouble.code === "not_found";
    const words = lost ? "This conversation cannot be found." : trouble.code === "unauthorized" ? "Your sign-in has run out." : `Not up to date: ${trouble.message}. Trying again by itself.`;
    this.#trouble.replaceChildren(words, " ", h("button", { type: "button", class: "plain", onclick: () => this.refresh() }, "Try now"));
  }

  // -- what the person does ------------------------------------------------------------------------------

  /** The row stands in the list at once, so the fields are free for the next one at once. */
  #add() {
    const composer = this.#composer;
    if (!this.#store) return;
    const draft = composer.read();
    composer.write({ ...draft, title: "", subtitle: null });
    this.#keepComposer();
    if (composer.element.contains(this.shadowRoot.activeElement)) composer.title.focus();
    return this.#send(draft);
  }

  async #send(draft) {
    const store = this.#store;
    const drafts = this.#drafts;
    const lock = this.#lockEdits.checked;
    try {
      const list = await store.add(draft);
      const { outcome, position, id } = list.outcomes?.[0] ?? {};
      if (lock && outcome === "recorded") this.#lock(id, store);
      if (store !== this.#store) return; // another conversation is open by now
      if (outcome === "duplicate") this.#composer.message.show(`It is there already, as number ${position}.`, [], "calm");
      else this.#announce(`Added as number ${position ?? list.preferences.length}.`);
    } catch (error) {
      this.#notSent(error, draft, store, drafts);
    }
  }

  async #lock(id, store) {
    try {
      await store.lock(id, true);
    } catch (error) {
      this.#tellFailure(error, "Not locked", () => this.#lock(id, store), "lock");
    }
  }

  /** The text comes back into the fields, or waits above them where the person has gone on. */
  #notSent(error, draft, store, drafts) {
    const isTold = this.#failed(error, "Not saved");
    const isHere = store === this.#store;
    if (isHere && this.#composer.isEmpty) {
      this.#composer.write(draft);
      this.#keepComposer();
      if (!isTold) this.#composer.refuse(error, () => this.#composer.element.requestSubmit());
      error.arrived?.then(() => this.#hasArrived(draft, error, store));
      return;
    }
    drafts.keep({ unsent: [...(drafts.read().unsent ?? []), draft] });
    if (isHere) this.#showUnsent(draft, `Not saved, ${error.message}`, error.arrived);
  }

  /** What was lost on the way back is in the list: its text need not be sent again. */
  #hasArrived(draft, error, store) {
    if (!error.unsure || store !== this.#store || JSON.stringify(this.#composer.read()) !== JSON.stringify(draft)) return;
    this.#composer.write({ ...draft, title: "", subtitle: null });
    this.#keepComposer();
    this.#announce("Added.");
  }

  #showUnsent(draft, why, arrived) {
    const message = new Message();
    const drafts = this.#drafts;
    const letGo = () => {
      message.element.remove();
      const unsent = drafts.read().unsent ?? [];
      const at = unsent.findIndex((each) => each.title === draft.title && each.subtitle === draft.subtitle);
      drafts.keep({ unsent: unsent.filter((_, place) => place !== at) });
    };
    const again = () => {
      letGo();
      this.#send(draft);
    };
    message.show(`${why}: ${draft.title}`, [["Try again", again], ["Discard", letGo]]);
    arrived?.then(() => message.element.isConnected && letGo());
    this.#unsent.append(message.element);
  }

  #keepComposer() {
    this.#drafts?.keep({ composer: this.#composer.isEmpty ? null : this.#composer.read() });
  }

  #pressAll(locked) {
    const button = locked ? this.#lockAll : this.#unlockAll;
    if (button.getAttribute("aria-disabled") !== "true") this.#setAll(locked);
  }

  async #setAll(locked) {
    this.#notice.clear();
    for (const view of this.#rows.values()) view.message.clear(); // what failed of one lock is asked for no more
    try {
      await this.#store.lockAll(locked);
      this.#announce(locked ? "All are locked." : "All are unlocked.");
    } catch (error) {
      this.#tellFailure(error, locked ? "Not locked" : "Not unlocked", () => this.#setAll(locked), "lock");
    }
  }

  /** Moves a row by one among those of its kind. */
  #step(id, by) {
    const own = this.#neighbours(id);
    const target = own[own.findIndex((row) => row.id === id) + by];
    if (target) this.#place(id, target.id, by < 0 ? "before" : "after");
    else this.#announce(by < 0 ? "It is the first." : "It is the last.");
  }

  /** Begins to drag a row. */
  #grab(event, view) {
    drag(event, view.element, (target, side) => {
      const other = [...this.#rows.values()].find((row) => row.element === target);
      if (other) this.#place(view.id, other.id, side);
    });
  }

  #neighbours(id) {
    const rows = this.#store.rows.filter((row) => !row.unsaved);
    const kind = rows.find((row) => row.id === id)?.kind;
    return rows.filter((row) => row.kind === kind);
  }

  #place(id, targetId, side) {
    const before = this.#store.rows.filter((row) => !row.unsaved).map((row) => row.id);
    const ids = before.filter((each) => each !== id);
    const at = ids.indexOf(targetId);
    if (at < 0 || !before.includes(id)) return; // either may have gone since the press
    ids.splice(side === "after" ? at + 1 : at, 0, id);
    if (ids.every((each, place) => each === before[place])) return;
    this.#announce(`Number ${ids.indexOf(id) + 1} of ${ids.length}.`, true);
    this.#order(ids);
  }

  async #order(ids) {
    this.#notice.clear();
    try {
      await this.#store.order(ids);
    } catch (error) {
      this.#tellFailure(error, "Not moved", () => this.#order(ids), "order");
    }
  }

  /** Where focus goes when a row goes: to the next one, the one before, or the new preference's field. */
  #leave(view) {
    if (!view.element.contains(this.shadowRoot.activeElement)) return;
    const all = Object.values(this.#sections).flatMap(({ list }) => [...list.children]);
    const at = all.indexOf(view.element);
    const views = new Map([...this.#rows.values()].map((each) => [each.element, each]));
    const stays = (element) => element !== view.element && views.get(element)?.face === "reading";
    const next = all.slice(at + 1).find(stays) ?? all.slice(0, at).reverse().find(stays);
    (next ? views.get(next).editButton : this.#composer.title).focus();
  }

  // -- what the list did ---------------------------------------------------------------------------------

  #onList(threadId, { before, after, operation }) {
    const detail = { threadId, revision: after.revision, preferences: after.preferences, suggestions: after.suggestions.length };
    this.dispatchEvent(new CustomEvent("preferences-changed", { detail, bubbles: true, composed: true }));
    this.#history.refresh();
    if (!before) return;
    const known = new Map(before.preferences.map((row) => [row.id, row]));
    for (const row of after.preferences) {
      const old = known.get(row.id);
      known.delete(row.id);
      if (row.updated_by !== "agent" || old?.revision === row.revision) continue;
      this.#news[old ? "changed" : "added"]++;
    }
    const waited = new Set(before.suggestions.map(({ id }) => id));
    this.#news.suggested += after.suggestions.filter(({ id }) => !waited.has(id)).length;
    // Who removed a row is in the history only; what the person just did here is no news
    known.delete(operation?.removes);
    if (!operation?.undoes) this.#news.removed += known.size;
    this.#gather();
  }

  /** @param {Error & {code?: string, status?: number}} error
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

  /** For what concerns no single row or field. */
  #tellFailure(error, doing, again, matter) {
    if (this.#failed(error, doing)) return;
    this.#matter = matter;
    const ways = [["Try again", again], ["Dismiss", () => this.#notice.clear()]];
    this.#notice.show(`${doing}: ${error.message}.`, ways, "trouble", error.arrived);
  }

  /** The person asks for something else in this matter: what failed before is not offered again. */
  #superseded(matter) {
    if (this.#matter === matter) this.#notice.clear();
  }

  /** Says something politely, together with what else there is to say just now. */
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
      this.#news = { ...NO_NEWS };
      if (!text) return;
      // The same words twice in a row are still two announcements
      say(this.#live, this.#live.textContent === text ? `${text}\u00a0` : text);
    }, GATHER);
  }
}

/** What is typed into a field is no hot key of the page around it. */
function keepTyping(event) {
  const isChord = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
  if (event.target.matches(".field") && !isChord && !/^(Escape|Tab|F\d+)$/.test(event.key)) event.stopPropagation();
}

function section(kind) {
  const list = h("ol", { class: "rows", role: "list", part: "list", "aria-labelledby": `${kind}-title` });
  const title = h("h3", { id: `${kind}-title` }, KINDS[kind], " ", h("span", { class: "kind-word" }, kind));
  return { list, element: h("section", { class: "section", part: "section", "data-kind": kind, hidden: true }, title, list) };
}

function tally(count, locked) {
  return count ? `${amount(count)}, ${locked || "none"} locked` : "No preferences yet";
}

function amount(count) {
  return count === 1 ? "1 preference" : `${count} preferences`;
}

function newsOf({ added, changed, removed, suggested }) {
  const agent = [added && `${amount(added)} added`, changed && `${amount(changed)} changed`].filter(Boolean);
  return [agent.length && `By the agent: ${agent.join(", ")}.`, removed && `${amount(removed)} removed.`,
    suggested && `The agent suggests ${suggested === 1 ? "a change" : `${suggested} changes`}.`].filter(Boolean);
}

// A browser may refuse storage altogether: then the choice lasts as long as the page
function recall() {
  try {
    return localStorage.getItem(LOCK_EDITS) === "yes";
  } catch {
    return false;
  }
}

function remember(yes) {
  try {
    localStorage.setItem(LOCK_EDITS, yes ? "yes" : "no");
  } catch {
    // nothing is lost but the memory of it
  }
}

// A page may load this from two addresses: the first copy serves
if (!customElements.get("preferences-panel")) customElements.define("preferences-panel", PreferencesPanel);
