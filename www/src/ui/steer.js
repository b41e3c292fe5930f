/**
 * Numbers that steer. A number in a sentence that belongs to a state of a figure (`data-steers="transition.n=64"`, put there by
 * LiveText) shows that state while the reader points at it, and leads there by a click or the enter key.
 */
import { fromSearch } from "../state/address.js";

/** @import { Store } from "../state/store.js" */
/** @import { Values } from "../state/parameters.js" */

/** How long a figure is marked after a number has led to it. */
const MARKED_MS = 2000;

/**
 * @param {Document} root
 * @param {Store} store
 */
export function mountSteering(root, store) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let marked;
  /** The number that is pointed at, and what brings the state before it back. @type {{number: Element, end: () => void} | undefined} */
  let pointed;

  const leave = () => {
    const before = pointed;
    pointed = undefined;
    if (!before) return;
    before.end();
    figureOf(before.number)?.removeAttribute("data-steered");
  };
  /** @param {Element} number */
  const point = (number) => {
    if (pointed?.number === number) return;
    leave();
    pointed = { number, end: store.preview(stateOf(number)) };
    figureOf(number)?.setAttribute("data-steered", "");
  };
  /** @param {Element} number */
  const follow = (number) => {
    leave();
    store.visit(stateOf(number));
    const figure = figureOf(number);
    if (!figure) return;
    const behaviour = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
    figure.scrollIntoView({ block: "nearest", behavior: behaviour });
    figure.setAttribute("data-steered", "");
    clearTimeout(marked);
    marked = setTimeout(() => !pointed && figure.removeAttribute("data-steered"), MARKED_MS);
  };

  root.addEventListener("pointerover", ({ target, pointerType }) => {
    const number = numberAt(target);
    if (number && pointerType === "mouse") point(number);
    else if (pointed && pointed.number !== root.activeElement) leave();
  });
  root.addEventListener("focusin", ({ target }) => {
    const number = numberAt(target);
    // A click focuses, too, and is told of in its turn.
    if (number?.matches(":focus-visible")) point(number);
  });
  root.addEventListener("focusout", leave);
  root.addEventListener("click", ({ target }) => {
    const number = numberAt(target);
    if (number) follow(number);
  });
  root.addEventListener("keydown", (event) => {
    const number = numberAt(event.target);
    if (!number || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    follow(number);
  });
}

/** @param {EventTarget | null} target */
const numberAt = (target) => (target instanceof Element ? target.closest("[data-steers]") : null);

/** @param {Element} number */
const figureOf = (number) => document.getElementById(number.getAttribute("aria-controls") ?? "");

/** @param {Element} number @returns {Partial<Values>} */
function stateOf(number) {
  const search = number.getAttribute("data-steers") ?? "";
  const { values } = fromSearch(search);
  const keys = /** @type {(keyof Values)[]} */ ([...new URLSearchParams(search).keys()]);
  return Object.fromEntries(keys.map((key) => [key, values[key]]));
}
