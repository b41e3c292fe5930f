/**
 * Words that a reader may not know. In the text a word is a link to its explanation in sections/terms.html, so it works
 * without scripts as well; here the explanation comes to the word instead: on hover, on focus, or by a tap.
 */
import { make } from "./dom.js";

/** Time to cross the gap between a word and its explanation. */
const LEAVE_MS = 200;
/** Least distance to the edge of the screen. */
const MARGIN = 8;

/** @param {Document} root */
export function mountTerms(root) {
  // A popover lies over everything and is never cut off by the figure that it belongs to.
  const card = make("div", { className: "term-card", popover: "manual" });
  card.setAttribute("aria-hidden", "true");
  root.body.append(card);
  /** @type {HTMLAnchorElement | undefined} */
  let shown;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let leaving;

  const hide = () => {
    clearTimeout(leaving);
    shown = undefined;
    card.hidePopover();
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(hide, LEAVE_MS);
  };
  /** @param {HTMLAnchorElement} word */
  const show = (word) => {
    clearTimeout(leaving);
    const explanation = root.querySelector(word.hash);
    if (shown === word || !explanation) return;
    shown = word;
    card.replaceChildren(...[...explanation.childNodes].map((node) => node.cloneNode(true)));
    card.showPopover();
    const { left, top, bottom } = word.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const { clientWidth } = root.documentElement;
    const above = top - height - MARGIN >= 0;
    card.style.left = `${Math.max(MARGIN, Math.min(left, clientWidth - width - MARGIN))}px`;
    card.style.top = `${above ? top - height - MARGIN : bottom + MARGIN}px`;
  };

  for (const word of /** @type {NodeListOf<HTMLAnchorElement>} */ (root.querySelectorAll("a.term"))) {
    // Those who do not see the card hear the explanation itself.
    word.setAttribute("aria-describedby", word.hash.slice(1));
    word.addEventListener("pointerenter", () => show(word));
    word.addEventListener("pointerleave", leave);
    word.addEventListener("focus", () => show(word));
    word.addEventListener("blur", hide);
    word.addEventListener("click", (event) => {
      event.preventDefault();
      show(word);
    });
  }
  card.addEventListener("pointerenter", () => clearTimeout(leaving));
  card.addEventListener("pointerleave", leave);
  root.addEventListener("keydown", ({ key }) => shown && key === "Escape" && hide());
  root.addEventListener("pointerdown", ({ target }) => {
    const inside = target instanceof Node && (card.contains(target) || shown?.contains(target));
    if (shown && !inside) hide();
  });
  root.addEventListener("scroll", () => shown && hide(), { passive: true });
}
