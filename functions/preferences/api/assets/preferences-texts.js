/**
 * Every text of the panel, in English. The page's `lang` chooses the language when the panel is loaded; another
 * one is another file like preferences-texts-de.js, which only pages in that language load.
 *
 * What the service writes, the sentences of the history and rare refusals, comes in English.
 */

/** @param {number} count */
const preferences = (count) => (count === 1 ? "1 preference" : `${count} preferences`);
/** @param {string[]} titles */
const named = (titles) => (titles.length === 1 ? titles[0] : preferences(titles.length));

export const en = {
  preferences: "Preferences",
  view: "View",
  list: "List",
  history: "History",
  more: "More",
  search: "Search",
  loading: "Loading…",
  missing: (/** @type {string} */ what) => `This panel needs ${what}.`,
  missingThread: "the attribute thread-id, a conversation's id",
  missingToken: "the property tokenProvider, a function that gives an access token",
  empty: "Nothing here yet. What the agent understands of your wishes appears here, and you can write the first one yourself.",
  lost: "This conversation cannot be found.",
  signedOut: "Your sign-in has run out.",
  stale: (/** @type {string} */ why) => `Not up to date: ${why}. Trying again by itself.`,
  tryNow: "Try now",
  tryAgain: "Try again",
  dismiss: "Dismiss",
  discard: "Discard",

  // What the heading says
  none: "No preferences yet",
  count: preferences,
  countOf: (/** @type {number} */ count, /** @type {number} */ most) => `${count} of ${most} preferences`,
  locks: (/** @type {number} */ count) => `${count || "none"} locked`,
  characters: (/** @type {string} */ count, /** @type {string} */ most) => `${count} of ${most} characters`,
  found: (/** @type {number} */ count) => `${count} found`,
  agentDid: (/** @type {string[]} */ added, /** @type {string[]} */ changed) =>
    `By the agent: ${[added.length && `${named(added)} added`, changed.length && `${named(changed)} changed`].filter(Boolean).join(", ")}.`,
  wereRemoved: (/** @type {string[]} */ titles) => `${named(titles)} removed.`,

  // Kinds and fields
  kind: "Kind",
  kinds: { hard: "Must have", soft: "Nice to have" },
  title: "Title",
  detail: "Detail, optional",
  titleHint: "Something the agent should know",
  detailHint: "Detail, if it needs one",
  addOne: "Add a preference",
  add: "Add",
  save: "Save",
  cancel: "Cancel",
  empties: "It needs a few words.",
  tooLong: (/** @type {number} */ most, /** @type {number} */ length) => `At most ${most} characters; this has ${length}.`,
  duplicate: (/** @type {number} */ position) => `It is there already, as number ${position}.`,
  addedAs: (/** @type {number} */ position) => `Added as number ${position}.`,
  added: "Added.",
  saved: "Saved.",

  // The menu
  lockWrites: "Lock what I write",
  lockAll: "Lock all",
  unlockAll: "Unlock all",
  allLocked: "All are locked.",
  allUnlocked: "All are unlocked.",
  copyMarkdown: "Copy as Markdown",
  copyJson: "Copy as JSON",
  saveMarkdown: "Save as Markdown",
  saveJson: "Save as JSON",
  copied: "Copied.",
  notCopied: "Not copied: the browser does not let this page write to the clipboard. Saving works all the same.",

  // Rows
  agentsNumber: "Its number for the agent",
  locked: "Locked",
  pending: { Saving: "Saving…", Locking: "Locking…", Unlocking: "Unlocking…" },
  fresh: { new: "new", changed: "changed" },
  byAgent: "by the agent",
  addedByAgent: "added by the agent",
  changedByAgent: "changed by the agent",
  lock: "Lock",
  unlock: "Unlock",
  edit: "Edit",
  remove: "Remove",
  move: "Move",
  named: (/** @type {string} */ verb, /** @type {string} */ title) => `${verb} ${title}`,
  up: "Up",
  down: "Down",
  done: "Done",
  moveHelp: "Arrow up and arrow down move it; pressing shows buttons.",
  first: "It is the first.",
  last: "It is the last.",
  place: (/** @type {number} */ at, /** @type {number} */ count) => `Number ${at} of ${count}.`,

  // Two versions
  meanwhile: "Changed meanwhile",
  yours: "Yours:",
  takeTheirs: "Take theirs",
  applyMine: "Apply mine again",
  addAgain: "Add it again",
  newest: (/** @type {boolean} */ agent) => `Changed by ${agent ? "the agent" : "you, elsewhere,"} just now: this is the newest text.`,
  whileWriting: (/** @type {boolean} */ agent) => `Changed by ${agent ? "the agent" : "you, elsewhere,"} while you were writing:`,
  bothHere: "Both versions are here. Apply yours again, or take theirs.",
  goneWhileWriting: "It was removed while you were writing. Your text is still here.",

  // Removing
  askLocked: "It is locked. Remove it all the same?",
  removeIt: "Remove it",
  keepIt: "Keep it",
  removeAnyway: "Remove it all the same",
  changedBefore: "Not removed: it was changed just before.",
  removing: "Removing",
  removed: "Removed",
  alreadyRemoved: "Already removed:",
  removedOne: (/** @type {string} */ title) => `Removed ${title}.`,
  others: (/** @type {number} */ count) => (count === 1 ? "and one more" : `and ${count} more`),
  undo: "Undo",
  puttingBack: "Putting it back…",
  isBack: (/** @type {string} */ title) => `${title} is back.`,

  // What the agent did, in its place
  agentRemoved: "The agent removed",
  agentChanged: "The agent changed",
  undoAll: (/** @type {number} */ count) => `Undo all ${count}`,
  show: "Show",

  // What the agent suggests
  kindsInside: { hard: "must have", soft: "nice to have" }, // within a sentence
  suggestion: "The agent's suggestion",
  suggestions: (/** @type {number} */ count) => (count === 1 ? "1 suggestion" : `${count} suggestions`),
  agentSuggests: (/** @type {number} */ count) => `The agent suggests ${count === 1 ? "a change" : `${count} changes`}.`,
  suggestedByAgent: "Suggested by the agent",
  suggestionLeads: { add: "The agent suggests to add", edit: "The agent suggests", remove: "The agent suggests to remove" },
  accept: "Accept",
  acceptNamed: (/** @type {string} */ what) => `Accept: ${what}`,
  accepted: (/** @type {string} */ what) => `Accepted: ${what}.`,
  editSuggested: (/** @type {string} */ title) => `Edit ${title}, as suggested`,
  turnDown: "Dismiss",
  dismissNamed: (/** @type {string} */ what) => `Dismiss the suggestion: ${what}`,
  dismissed: "Suggestion dismissed.",
  dismissAll: "Dismiss all",
  dismissAllNamed: "Dismiss all suggestions",
  allDismissed: "All suggestions are dismissed.",
  suggestionGone: "That suggestion waits no longer.",
  notAccepted: "Not accepted",
  notDismissed: "Not dismissed",
  addedOne: (/** @type {string} */ title) => `Added: ${title}.`,
  noDetail: "no detail",
  toAdd: (/** @type {string} */ what) => `add ${what}`,
  toRemove: (/** @type {string} */ title) => `remove ${title}`,
  toChange: (/** @type {string} */ title, /** @type {string} */ what) => `change ${title} to ${what}`,

  // The history
  noHistory: "Nothing has changed yet.",
  older: "Show older changes",
  historyFailed: (/** @type {string} */ why) => `The history could not be read: ${why}.`,
  olderFailed: (/** @type {string} */ why) => `Older changes could not be read: ${why}.`,
  undoOf: (/** @type {string} */ summary) => `Undo: ${summary}`,
  undone: (/** @type {string} */ summary) => `Undone: ${summary}`,
  names: { title: "title", subtitle: "detail", kind: "kind" },
  nothing: "none",
  from: "from ",
  to: "to ",

  // The name of a conversation, on the page around the panel
  nameIt: "Name this conversation",
  renameIt: "Rename this conversation",
  conversationName: "Name of the conversation",
  conversationHint: "For example: Trip to Rome",
  nowNamed: (/** @type {string} */ name) => `The conversation is called ${name}.`,
  nameTaken: "The conversation has no name now.",

  // What did not come about, and why
  failed: (/** @type {string} */ doing, /** @type {string} */ why) => `${doing}: ${why}.`,
  notSaved: "Not saved",
  notLocked: "Not locked",
  notUnlocked: "Not unlocked",
  stillLocked: "Still locked",
  notMoved: "Not moved",
  notRemoved: "Not removed",
  notPutBack: "Not put back",
  notUndone: "Not undone",
  notRefreshed: "Not refreshed",
  notRead: "History not read",
  why: {
    offline: "there is no connection",
    timeout: "the service did not answer in time",
    token_timeout: "the sign-in did not answer in time",
    another_person: "somebody else is signed in by now",
    unreadable: "the service gave no proper answer",
    unauthorized: "your sign-in has run out",
    not_found: "it is no longer there",
    busy: "the list is busy just now",
    not_ready: "the change is still being written down",
    throttled: "there are too many requests just now",
    outcome_unknown: "it is not known whether it arrived; the list shows what is stored",
    precondition_failed: "it was changed in the meantime",
    internal_error: "something went wrong at the service",
  },

  justNow: "just now",
};

/** The language that the panel speaks, as `lang` writes it. */
export const language = /^de\b/i.test(document.documentElement.lang) ? document.documentElement.lang : "en";

/** @type {typeof en} */
export const t = language === "en" ? en : (await import("./preferences-texts-de.js")).de;
