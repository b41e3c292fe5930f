import { isSound } from "../reports/divergence.js";
import { make } from "./dom.js";

/**
 * @import { Found } from "../reports/divergence.js"
 * @import { Values } from "../state/parameters.js"
 */

/**
 * @typedef {object} Steering a number that belongs to a state of a figure
 * @property {string} text
 * @property {Partial<Values>} to the state
 * @property {string} figure its id
 */

/** Wait for the reader to settle before speaking: a dragged slider must not flood a screen reader. */
const QUIET_MS = 800;

/** Numbers and claims in the running text, bound to what is on the screen. */
export class LiveText {
  #root;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Document} root */
  constructor(root) {
    this.#root = root;
  }

  /** Hide the numbers that the page came with: they are those of its default state. */
  forget() {
    for (const place of this.#root.querySelectorAll("[data-told]")) place.removeAttribute("data-told");
    for (const place of this.#root.querySelectorAll("[data-verdict]")) place.removeAttribute("data-verdict");
    for (const words of this.#root.querySelectorAll(".verdict")) words.remove();
  }

  /**
   * Put values where the text names them. What stands there before has about their length and is not shown: it keeps the
   * place, so that the text does not move.
   * @param {Record<string, string | Steering>} values
   */
  set(values) {
    for (const [name, value] of Object.entries(values)) {
      for (const place of this.#root.querySelectorAll(`[data-live="${name}"]`)) {
        place.textContent = typeof value === "string" ? value : value.text;
        place.setAttribute("data-told", "");
        if (typeof value !== "string") steer(place, value);
      }
    }
  }

  /**
   * Say whether a sentence is true of the run on the screen; undefined: this run does not test it.
   * @param {string} name
   * @param {boolean | undefined} holds
   * @param {readonly Found[]} [found] what it rests on: networks that broke down test nothing
   */
  claim(name, holds, found = []) {
    const verdict = holds === undefined || !found.every(isSound) ? "untested" : holds ? "holds" : "fails";
    const words = { untested: "not tested in this run", fails: "does not hold here", holds: "" };
    for (const place of this.#root.querySelectorAll(`[data-claim="${name}"]`)) {
      if (place.getAttribute("data-verdict") === verdict) continue;
      place.setAttribute("data-verdict", verdict);
      place.querySelector(".verdict")?.remove();
      if (words[verdict]) place.append(make("small", { className: "verdict" }, ` (${words[verdict]})`));
    }
  }

  /** Say one sentence to assistive technology, once things are quiet. @param {string} sentence */
  announce(sentence) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const region = this.#root.getElementById("announcements");
      if (region) region.textContent = sentence;
    }, QUIET_MS);
  }
}

/**
 * Let a number lead to its state of the figure (see steer.js).
 * @param {Element} place
 * @param {Steering} steering
 */
function steer(place, { to, figure }) {
  const search = new URLSearchParams(Object.entries(to).map(([key, value]) => [key, String(value)])).toString();
  place.setAttribute("data-steers", search);
  place.setAttribute("aria-controls", figure);
  if (place.hasAttribute("role")) return;
  place.setAttribute("role", "button");
  place.setAttribute("tabindex", "0");
  place.setAttribute("title", "Show this in the figure");
}
