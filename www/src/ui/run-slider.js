import { make } from "./dom.js";
import { count, significant } from "./format.js";
import { parameters } from "../state/parameters.js";

/**
 * @import { NumberKey } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 */

/**
 * A slider over the values that the run on the screen has. The table of parameters cannot know them, so the parameter
 * holds what the reader asked for, and the slider stands at the value nearest to it.
 * @param {HTMLElement} place
 * @param {Store} store
 * @param {NumberKey} key
 * @returns {(stops: number[], value: number) => void} shows these values, and where the slider stands
 */
export function runSlider(place, store, key) {
  const { label, help } = parameters[key];
  /** @type {number[]} */
  let stops = [];
  const input = make("input", {
    type: "range",
    min: "0",
    step: "1",
    title: help,
    ariaLabel: label,
    // Until there is something to choose from.
    disabled: true,
    oninput: () => store.set({ [key]: stops[input.valueAsNumber] }),
  });
  const output = make("output");
  const ticks = make("div", { className: "ticks", ariaHidden: "true" });
  place.append(make("div", { className: "slider-head" }, make("span", {}, label), output), input, ticks);

  return (next, value) => {
    if (next.join() !== stops.join()) {
      stops = next;
      input.max = String(stops.length - 1);
      input.disabled = stops.length < 2;
      ticks.replaceChildren(
        ...stops.map((stop, i) => {
          const tick = make("span", {}, format(stop));
          tick.style.setProperty("--at", String(stops.length > 1 ? i / (stops.length - 1) : 0.5));
          return tick;
        }),
      );
    }
    input.value = String(stops.indexOf(value));
    input.setAttribute("aria-valuetext", format(value));
    output.value = format(value);
  };
}

/** @param {number} value */
const format = (value) => (Number.isInteger(value) ? count(value) : significant(value));
