/** Moving a row by its grip with mouse, pen or finger. Only the drop changes anything. */
import { set } from "./dom.js";

const SLACK = 5; // pixels before a press counts as a drag, so that a plain press still is a click
const EDGE = 56; // pixels from the window's edge where the page begins to scroll

/**
 * @param {PointerEvent} press on the grip
 * @param {HTMLElement} element the row
 * @param {(target: HTMLElement, side: "before"|"after") => void} drop
 */
export function drag(press, element, drop) {
  if (press.button !== 0) return;
  const grip = /** @type {HTMLElement} */ (press.currentTarget);
  const list = element.parentElement;
  const ends = new AbortController();
  let moving = false;
  let place = null; // {target, side}

  grip.setPointerCapture(press.pointerId);
  const on = (type, listener) => grip.addEventListener(type, listener, { signal: ends.signal });
  on("pointermove", follow);
  on("pointerup", () => finish(true));
  on("pointercancel", () => finish(false));
  grip.ownerDocument.addEventListener("keydown", (event) => event.key === "Escape" && finish(false), { signal: ends.signal });

  function follow(event) {
    if (!moving && Math.abs(event.clientY - press.clientY) < SLACK) return;
    moving = true;
    set(element, "data-dragged", true);
    if (event.clientY < EDGE) window.scrollBy(0, -10);
    if (event.clientY > window.innerHeight - EDGE) window.scrollBy(0, 10);
    mark(nearest(event.clientY));
  }

  function nearest(y) {
    const rows = [...list.children].filter((row) => row !== element && row.dataset.face !== "removed" && !row.hasAttribute("data-unsaved"));
    for (const row of rows) {
      const { top, height } = row.getBoundingClientRect();
      if (y < top + height / 2) return { target: row, side: "before" };
    }
    return rows.length ? { target: rows.at(-1), side: "after" } : null;
  }

  function mark(next) {
    if (place) set(place.target, "data-drop", null);
    place = next;
    if (place) set(place.target, "data-drop", place.side);
  }

  function finish(dropped) {
    ends.abort();
    set(element, "data-dragged", null);
    const { target, side } = place ?? {};
    mark(null);
    if (!moving) return;
    swallowClick(grip);
    if (dropped && target?.isConnected && element.isConnected) drop(target, side);
  }
}

/** The press of a drag still ends in a click on the grip; it must not count as one. */
function swallowClick(grip) {
  const over = new AbortController();
  const { signal } = over;
  grip.addEventListener("click", (event) => event.stopImmediatePropagation(), { capture: true, once: true, signal });
  for (const next of ["pointerdown", "keydown"]) grip.addEventListener(next, () => over.abort(), { capture: true, signal });
}
