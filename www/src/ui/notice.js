import { make } from "./dom.js";
import { sentence } from "./format.js";

/** @import { Failure } from "../engine/protocol.js" */

/**
 * Tell the reader something that no figure is the place for. It lies over the page, so nothing moves.
 * @param {HTMLElement} place
 * @param {string[]} sentences
 */
export function showNotice(place, sentences) {
  const close = make("button", { type: "button", onclick: () => (place.hidden = true) }, "Close");
  place.replaceChildren(make("div", {}, ...sentences.map((text) => make("p", {}, text))), close);
  place.hidden = false;
}

/**
 * @param {HTMLElement} place
 * @param {Failure} failure
 * @param {() => void} [retry]
 */
export function showFailure(place, { kind, message, hint }, retry) {
  place.dataset.kind = kind;
  const text = make("p", {}, make("strong", {}, sentence(message)), hint ? ` ${sentence(hint)}` : "");
  place.replaceChildren(text, ...(retry ? [retryButton(retry)] : []));
  place.hidden = false;
}

/** @param {() => void} retry */
function retryButton(retry) {
  const button = make("button", { type: "button", onclick: retry }, "Try again");
  button.dataset.action = "retry";
  return button;
}
