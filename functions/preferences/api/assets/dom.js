/**
 * Elements without markup strings. Stored text reaches the page as a text node, a property or an
 * attribute value, and in no other way: nothing in the panel parses a string as HTML.
 */

import { language, t } from "./preferences-texts.js";

/**
 * @typedef {{[name: string]: unknown} & {onclick?: (event: MouseEvent) => unknown, onchange?: (event: Event) => unknown,
 *   onkeydown?: (event: KeyboardEvent) => unknown, onpointerdown?: (event: PointerEvent) => unknown,
 *   onsubmit?: (event: SubmitEvent) => unknown, onfocusout?: (event: FocusEvent) => unknown}} Attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] `onclick` and the like are listeners; `true` is an empty
 *   attribute; `false`, `null` and `undefined` are left out
 * @param {...(Node|string|null|false|undefined)} children
 * @returns {HTMLElementTagNameMap[Tag]} the new element
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else set(element, name, value);
  }
  for (const child of children) if (child !== null && child !== false && child !== undefined) element.append(child);
  return element;
}

/**
 * Sets or removes an attribute, and leaves an equal one alone: assistive technology hears every write.
 * @param {Element} element
 * @param {string} name
 * @param {unknown} value as for `h`
 */
export function set(element, name, value) {
  const text = value === true ? "" : value === false || value === null || value === undefined ? null : String(value);
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

/**
 * Writes text where it differs, so that selections and live regions are not disturbed for nothing.
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const SHAPES = {
  locked: ["M4 7.5h8v6H4z", "M5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5"],
  unlocked: ["M4 7.5h8v6H4z", "M5.5 7.5V4.6a2.5 2.5 0 0 1 4.9-.7"],
  edit: ["M3 13l.7-2.9 7.2-7.2a1.3 1.3 0 0 1 1.9 0l.3.3a1.3 1.3 0 0 1 0 1.9l-7.2 7.2z"],
  remove: ["M3 4.5h10", "M6.2 4.5V3h3.6v1.5", "M4.4 4.5l.6 8.7h6l.6-8.7"],
  grip: ["M6 4v.01", "M10 4v.01", "M6 8v.01", "M10 8v.01", "M6 12v.01", "M10 12v.01"],
  up: ["M8 13V3.5", "M4 7.2L8 3.2l4 4"],
  down: ["M8 3v9.5", "M4 8.8l4 4 4-4"],
  undo: ["M6 3L3 6l3 3", "M3.2 6H10a3.2 3.2 0 0 1 0 6.4H7"],
  more: ["M3.5 8v.01", "M8 8v.01", "M12.5 8v.01"],
  close: ["M4.5 4.5l7 7", "M11.5 4.5l-7 7"],
};

/** A decorative drawing: its button carries the name. @param {keyof typeof SHAPES} name */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  for (const [key, value] of [["viewBox", "0 0 16 16"], ["class", `icon icon-${name}`], ["aria-hidden", "true"]]) {
    svg.setAttribute(key, value);
  }
  for (const line of SHAPES[name]) {
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", line);
    svg.append(path);
  }
  return svg;
}

/** @type {Array<[Intl.RelativeTimeFormatUnit, number]>} */
const SPANS = [
  ["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60],
];
const RELATIVE = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const EXACT = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

/** @param {string} stamp ISO 8601 @returns {string} such as "3 minutes ago" */
function ago(stamp) {
  const seconds = (Date.parse(stamp) - Date.now()) / 1000;
  for (const [unit, size] of SPANS) {
    if (-seconds >= size) return RELATIVE.format(Math.ceil(seconds / size), unit);
  }
  return t.justNow; // also where the two clocks differ and the moment lies ahead
}

/**
 * Keeps a `<time>` element at the given moment; it is empty where there is none.
 * @param {Element} element
 * @param {string} stamp ISO 8601
 */
export function tell(element, stamp) {
  const moment = new Date(stamp);
  const isOne = !Number.isNaN(moment.getTime());
  set(element, "datetime", isOne ? stamp : null);
  set(element, "title", isOne ? EXACT.format(moment) : null);
  say(element, isOne ? ago(stamp) : "");
}

/** Brings every `<time>` below `root` up to date. @param {ParentNode} root */
export function refreshTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) say(element, ago(element.getAttribute("datetime") ?? ""));
}

/**
 * Puts `elements` into `parent` in their order and takes every other child out. The element that holds
 * focus is never moved, since moving a node blurs it: the others are moved around it.
 * @param {Element} parent
 * @param {Element[]} elements
 */
export function arrange(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  if (!elements.length) return;
  const focused = /** @type {ShadowRoot} */ (parent.getRootNode()).activeElement;
  const held = elements.findIndex((element) => element.parentNode === parent && element.contains(focused));
  const pin = Math.max(held, 0);
  if (held < 0 && parent.firstElementChild !== elements[0]) parent.prepend(elements[0]);
  for (let i = pin - 1; i >= 0; i--) {
    if (elements[i + 1].previousElementSibling !== elements[i]) elements[i + 1].before(elements[i]);
  }
  for (let i = pin + 1; i < elements.length; i++) {
    if (elements[i - 1].nextElementSibling !== elements[i]) elements[i - 1].after(elements[i]);
  }
}
