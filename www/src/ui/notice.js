import { make } from "./dom.js";

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
