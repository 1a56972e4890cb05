/**
 * The agent's part, played by hand; in the local stack only. Sends the event that Bedrock would send to the
 * tools' function, and shows what the model would get back.
 */

// Of the page's own dom.js, which the page loads under the version of its release.
/** @type {Dom["h"]} */
let h;
/** @type {Dom["say"]} */
let say;
/** @type {Dom["set"]} */
let set;

/** @typedef {"add_preferences"|"list_preferences"|"update_preferences"|"remove_preferences"} Tool */
/** @typedef {import("../../functions/preferences/api/assets/preferences-client.js").Row} Row */
/** @typedef {typeof import("../../functions/preferences/api/assets/dom.js")} Dom */
/** @typedef {[tool: Tool, words: string, value: object[]|number[]|null]} Example */

/** @type {Record<Tool, string>} */
const WHY = {
  add_preferences: "The user told me how they like to travel, so I keep it.",
  list_preferences: "I look at what I already know before I answer.",
  update_preferences: "The user spoke of a wider budget, so I correct the entry.",
  remove_preferences: "The user no longer needs this, so I drop it.",
};

/** Ready examples: tool, its own argument, and the words on the button. */
/** @type {Example[]} */
const EXAMPLES = [
  ["add_preferences", "Three wishes for a journey", [
    { title: "Budget under 900", subtitle: "For the whole stay, in euros", kind: "hard" },
    { title: "No night flights", kind: "hard" },
    { title: "A quiet room", subtitle: "Away from lift and street", kind: "soft" },
  ]],
  ["add_preferences", "One more", [{ title: "Vegetarian breakfast", kind: "soft" }]],
  ["list_preferences", "The list", null],
  ["update_preferences", "Raise the budget (#1)", [{ index: 1, title: "Budget under 1,200" }]],
  ["update_preferences", "Soften #1, reword #3", [{ index: 1, kind: "soft" }, { index: 3, subtitle: "On the courtyard side" }]],
  ["remove_preferences", "Drop #1 and #2", [1, 2]],
];

/** The row that the tour is about: as the agent first records it, and as it would have it later. */
const TOUR = { title: "Budget under 900", raised: "Budget under 1,200" };

/** @type {Record<Tool, string|null>} */
const ARGUMENT = { add_preferences: "items", update_preferences: "updates", remove_preferences: "indices", list_preferences: null };
const KEPT = 12; // answers on the page

export class AgentConsole {
  /** @type {Tool} */
  #tool = "add_preferences";
  /** @type {number|null} */
  #revision = null;
  /** @type {Record<string, {done: boolean, element: HTMLElement}>} */
  steps = {};
  busy = false;
  /** @type {Row|null} the row of the tour's first wish, once it is in the list */
  #budget = null;

  /**
   * @param {{dom: Pick<Dom, "h"|"say"|"set">, path: string, identity: () => {thread_id: string, user_id: string}, answered: () => void}} options
   */
  constructor({ dom, path, identity, answered }) {
    ({ h, say, set } = dom);
    this.path = path;
    this.identity = identity;
    this.answered = answered;
    this.tools = /** @type {Tool[]} */ (Object.keys(ARGUMENT)).map((tool) => this.#toolChoice(tool));
    this.examples = h("div", { class: "examples" });
    this.argumentName = h("label", { for: "console-argument" });
    this.argument = h("textarea", { id: "console-argument", rows: 4, spellcheck: "false" });
    this.why = h("input", { id: "console-why", type: "text", autocomplete: "off" });
    this.seen = h("input", { id: "console-seen", type: "checkbox" });
    this.seenWords = h("span", {});
    this.seenChoice = h("label", { class: "choice" }, this.seen, this.seenWords);
    this.send = h("button", { type: "submit", class: "solid" }, "Call the tool");
    this.fault = h("p", { class: "fault", role: "alert", hidden: true });
    this.answers = h("ol", { class: "answers", "aria-label": "Answers, the newest first" });
    this.spoken = h("p", { class: "unseen", role: "status" });
    this.element = h(
      "section", { class: "console", "aria-labelledby": "console-title" },
      h("h2", { id: "console-title" }, "Play the agent"),
      h("p", { class: "lead" }, "You are signed in as the user. Here you act as the agent, through the same four tools that it has."),
      this.#tour(),
      h("form", { onsubmit: (event) => this.#submit(event), novalidate: true },
        h("fieldset", { class: "tools" }, h("legend", { class: "unseen" }, "Tool"), ...this.tools.map((tool) => tool.label)),
        this.examples,
        this.argumentName, this.argument,
        h("label", { for: "console-why" }, "action_and_reasoning"), this.why,
        h("div", { class: "send" }, this.seenChoice, this.send),
        this.fault),
      this.answers, this.spoken,
    );
    this.#choose("add_preferences");
    this.#fill(...EXAMPLES[0]);
  }

  /** Another conversation: answers of the last one would mislead. */
  begin() {
    this.answers.replaceChildren();
    this.#revision = this.#budget = null;
    this.#startTour();
  }

  /**
   * @param {{revision: number, preferences: Row[]}}
   *   list what the panel shows
   */
  listChanged({ revision, preferences }) {
    this.#revision = revision;
    say(this.seenWords, `send list_revision ${revision}`);
    // The person's own rows may stand before it, and its title changes in the end
    const isBudget = (/** @type {Row} */ { id, title }) => (this.#budget ? id === this.#budget.id : title === TOUR.title);
    this.#budget = preferences.find(isBudget) ?? null;
    if (!this.#budget) return;
    this.#done("added");
    if (this.#budget.locked) this.#done("locked");
    else if (this.steps.refused.done) this.#done("unlocked");
  }

  // -- the tour: the lock, seen to hold -------------------------------------------------------------------

  #tour() {
    /** @param {Array<Node|string>} words */
    const step = (words) => ({ done: false, element: h("li", {}, ...words) });
    /** @param {string} label @param {() => Example|null} example */
    const go = (label, example) => h("button", { type: "button", class: "plain", onclick: () => this.#run(example()) }, label);
    const first = () => EXAMPLES[0];
    /** @returns {Example|null} */
    const raise = () => this.#budget && ["update_preferences", "", [{ index: this.#budget.position, title: TOUR.raised }]];
    this.steps = {
      added: step([go("Let the agent add three", first), " wishes."]),
      locked: step([`Lock “${TOUR.title}” in the panel.`]),
      refused: step([go("Let the agent raise the budget", raise), ": the lock holds, and the wish waits there."]),
      unlocked: step(["Unlock it."]),
      changed: step([go("Let the agent try again", raise), ": now it may."]),
    };
    return h("ol", { class: "tour", "aria-label": "The lock in a minute" }, ...Object.values(this.steps).map((each) => each.element));
  }

  /** @param {string} name */
  #done(name) {
    this.steps[name].done = true;
    set(this.steps[name].element, "data-done", true);
  }

  #startTour() {
    for (const step of Object.values(this.steps)) {
      step.done = false;
      set(step.element, "data-done", false);
    }
  }

  /** @param {Example|null} example */
  #run(example) {
    if (!example) {
      this.fault.hidden = false;
      return say(this.fault, "Let the agent add its three first.");
    }
    this.#choose(example[0]);
    this.#fill(...example);
    return this.#call();
  }

  // -- the form ------------------------------------------------------------------------------------------

  /** @param {Tool} tool */
  #toolChoice(tool) {
    const radio = h("input", { type: "radio", name: "tool", value: tool, onchange: () => this.#pick(tool) });
    return { tool, radio, label: h("label", {}, radio, h("span", {}, tool)) };
  }

  /** @param {Tool} tool */
  #pick(tool) {
    this.#choose(tool);
    this.#fill(.../** @type {Example} */ (EXAMPLES.find(([own]) => own === tool)));
  }

  /** @param {Tool} tool */
  #choose(tool) {
    this.#tool = tool;
    for (const choice of this.tools) choice.radio.checked = choice.tool === tool;
    const own = EXAMPLES.filter(([of]) => of === tool);
    this.examples.replaceChildren(
      ...own.map((example) => h("button", { type: "button", onclick: () => this.#fill(...example) }, example[1])),
    );
    const name = ARGUMENT[tool];
    say(this.argumentName, name ?? "");
    this.argumentName.hidden = this.argument.hidden = !name;
    this.seenChoice.hidden = !["update_preferences", "remove_preferences"].includes(tool);
  }

  /** @param {Example} example */
  #fill(...[tool, , value]) {
    this.why.value = WHY[tool];
    if (!value) return void (this.argument.value = "");
    // One element a line, so that a list reads as one
    this.argument.value = `[\n${value.map((each) => `  ${JSON.stringify(each, null, 1).replace(/\n\s*/g, " ")}`).join(",\n")}\n]`;
  }

  /** @param {SubmitEvent} event */
  #submit(event) {
    event.preventDefault();
    this.#call();
  }

  // -- the call ------------------------------------------------------------------------------------------

  async #call() {
    if (this.busy) return;
    this.busy = true;
    set(this.send, "aria-disabled", "true");
    this.fault.hidden = true;
    const tool = this.#tool;
    try {
      const response = await fetch(this.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(this.#event(tool)),
      });
      const raw = await response.text();
      this.#show(tool, raw, response.ok);
      this.answered();
    } catch {
      say(this.fault, "The local stack does not answer.");
      this.fault.hidden = false;
    } finally {
      this.busy = false;
      set(this.send, "aria-disabled", null);
    }
  }

  /** What Bedrock sends for an action group with function details: every value is text. @param {Tool} tool */
  #event(tool) {
    const identity = this.identity();
    const parameters = [];
    if (ARGUMENT[tool]) parameters.push({ name: ARGUMENT[tool], type: "array", value: this.argument.value });
    if (!this.seenChoice.hidden && this.seen.checked && this.#revision !== null) {
      parameters.push({ name: "list_revision", type: "integer", value: String(this.#revision) });
    }
    parameters.push({ name: "action_and_reasoning", type: "string", value: this.why.value });
    return {
      messageVersion: "1.0",
      agent: { name: "console", id: "CONSOLE", alias: "CONSOLE", version: "DRAFT" },
      inputText: "",
      sessionId: identity.thread_id,
      actionGroup: "preferences",
      function: tool,
      parameters,
      sessionAttributes: identity,
      promptSessionAttributes: {},
    };
  }

  /** @param {Tool} tool @param {string} raw @param {boolean} ok */
  #show(tool, raw, ok) {
    const answer = ok ? readAnswer(raw) : { tone: "refused", text: "The local stack refused the event.", raw, outcomes: [] };
    this.#follow(tool, answer);
    const line = h(
      "li", { class: "answer", "data-tone": answer.tone },
      h("p", { class: "answer-tool" }, tool),
      h("p", { class: "answer-text" }, answer.text),
      h("details", {}, h("summary", {}, "Raw answer"), h("pre", { tabindex: 0 }, answer.raw)),
    );
    this.answers.prepend(line);
    line.scrollIntoView({ block: "nearest" }); // on a small screen it would come about unseen
    while (this.answers.children.length > KEPT) this.answers.lastElementChild?.remove();
    say(this.spoken, `${tool}: ${answer.text}`);
  }

  /** @param {Tool} tool @param {{outcomes: string[]}} answer */
  #follow(tool, { outcomes }) {
    if (tool !== "update_preferences") return;
    if (outcomes.includes("locked")) this.#done("refused");
    else if (this.steps.refused.done && outcomes.includes("updated")) this.#done("changed");
  }
}

/** The result line out of the envelope in the envelope, and how it went. @param {string} raw */
function readAnswer(raw) {
  try {
    const answer = JSON.parse(raw);
    const body = answer.response.functionResponse.responseBody.TEXT.body;
    const result = JSON.parse(body);
    /** @type {string[]} */
    const outcomes = (result.items ?? []).map((/** @type {{outcome: string}} */ item) => item.outcome);
    const skipped = outcomes.some((outcome) => !["recorded", "updated", "removed"].includes(outcome));
    return {
      tone: !result.ok ? "refused" : skipped ? "partly" : "done",
      text: result.ok ? result.result : result.error.message,
      raw: JSON.stringify(answer, null, 2),
      outcomes,
    };
  } catch {
    return { tone: "refused", text: "The answer could not be read.", raw, outcomes: [] };
  }
}
