import { isSound } from "../reports/divergence.js";
import { make } from "./dom.js";

/** @import { Found } from "../reports/divergence.js" */

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

  /**
   * Put values where the text names them. What stands there before has about their length and is not shown: it keeps the
   * place, so that the text does not move.
   * @param {Record<string, string>} values
   */
  set(values) {
    for (const [name, text] of Object.entries(values)) {
      for (const place of this.#root.querySelectorAll(`[data-live="${name}"]`)) {
        place.textContent = text;
        place.setAttribute("data-told", "");
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
