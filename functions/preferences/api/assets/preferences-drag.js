/** Moving a row by its grip with mouse, pen or finger. Only the drop changes anything. */
import { set } from "./dom.js";

/** @typedef {{target: HTMLElement, side: "before"|"after"}} Place */

const SLACK = 5; // pixels before a press counts as a drag, so that a plain press still is a click
const EDGE = 56; // pixels from the edge of what scrolls where it begins to
const PACE = 10; // pixels a frame

/**
 * @param {PointerEvent} press on the grip
 * @param {HTMLElement} element the row
 * @param {(target: HTMLElement, side: "before"|"after") => void} drop
 */
export function drag(press, element, drop) {
  if (press.button !== 0) return;
  const grip = /** @type {HTMLElement} */ (press.currentTarget);
  const list = /** @type {HTMLElement} */ (element.parentElement);
  const scroller = scrollerOf(element);
  const ends = new AbortController();
  let moving = false;
  /** @type {Place|null} */
  let place = null;
  let y = press.clientY;
  let frame = 0;

  grip.setPointerCapture(press.pointerId);
  /** @param {"pointermove"|"pointerup"|"pointercancel"} type @param {(event: PointerEvent) => void} listener */
  const on = (type, listener) => grip.addEventListener(type, listener, { signal: ends.signal });
  on("pointermove", follow);
  on("pointerup", () => finish(true));
  on("pointercancel", () => finish(false));
  const keys = { capture: true, signal: ends.signal };
  grip.ownerDocument.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // used up here: a dialog around the panel stays open
    event.stopPropagation();
    finish(false);
  }, keys);

  /** @param {PointerEvent} event */
  function follow(event) {
    if (!moving && Math.abs(event.clientY - press.clientY) < SLACK) return;
    moving = true;
    set(element, "data-dragged", true);
    y = event.clientY;
    if (!frame) scroll();
    mark(nearest());
  }

  /** Goes on while the pointer rests at the edge: a frame's step, then the next. */
  function scroll() {
    const isPage = scroller === document.scrollingElement;
    const box = scroller.getBoundingClientRect();
    const top = isPage ? 0 : Math.max(box.top, 0);
    const bottom = isPage ? window.innerHeight : Math.min(box.bottom, window.innerHeight);
    const way = y < top + EDGE ? -PACE : y > bottom - EDGE ? PACE : 0;
    const before = scroller.scrollTop;
    if (way) scroller.scrollTop += way;
    if (scroller.scrollTop === before) return void (frame = 0);
    mark(nearest());
    frame = requestAnimationFrame(scroll);
  }

  /** @returns {Place|null} */
  function nearest() {
    const all = /** @type {HTMLElement[]} */ ([...list.children]);
    const rows = all.filter((row) => row !== element && row.classList.contains("row") && row.dataset.face !== "removed" && !row.hasAttribute("data-unsaved"));
    for (const row of rows) {
      const { top, height } = row.getBoundingClientRect();
      if (y < top + height / 2) return { target: row, side: "before" };
    }
    const last = rows.at(-1);
    return last ? { target: last, side: "after" } : null;
  }

  /** @param {Place|null} next */
  function mark(next) {
    if (place) set(place.target, "data-drop", null);
    place = next;
    if (place) set(place.target, "data-drop", place.side);
  }

  /** @param {boolean} dropped */
  function finish(dropped) {
    ends.abort();
    cancelAnimationFrame(frame);
    set(element, "data-dragged", null);
    const end = place;
    mark(null);
    if (!moving) return;
    swallowClick(grip);
    if (dropped && end?.target.isConnected && element.isConnected) drop(end.target, end.side);
  }
}

/**
 * The nearest ancestor that scrolls up and down, across shadow trees; the page where there is none.
 * @param {Element} element
 */
function scrollerOf(element) {
  /** @type {Element|undefined} */
  let at = element;
  while (at) {
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
    at = at.parentElement ?? /** @type {ShadowRoot} */ (at.getRootNode()).host;
  }
  return document.scrollingElement ?? document.documentElement;
}

/** The press of a drag still ends in a click on the grip; it must not count as one. @param {Element} grip */
function swallowClick(grip) {
  const over = new AbortController();
  const { signal } = over;
  grip.addEventListener("click", (event) => event.stopImmediatePropagation(), { capture: true, once: true, signal });
  for (const next of ["pointerdown", "keydown"]) grip.addEventListener(next, () => over.abort(), { capture: true, signal });
}
