import { make } from "./dom.js";
import { parameters } from "../state/parameters.js";
import { nearestStop } from "../reports/nearest.js";

/**
 * @import { NumberKey } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 */

/**
 * @typedef {object} Stop a value that the run on the screen has
 * @property {number} value
 * @property {string} label
 * @property {string} [note] a second line under the label
 */

/** Which way a key moves. */
const KEYS = new Map([
  ["ArrowLeft", -1],
  ["ArrowDown", -1],
  ["PageDown", -1],
  ["ArrowRight", 1],
  ["ArrowUp", 1],
  ["PageUp", 1],
]);
/** Ticks nearer than this fraction of the axis to the one before get no label. */
const LABEL_GAP = 0.08;

/**
 * A slider that is the log axis of the charts above or below it: a tick for each value that the run on the screen has, and
 * the thumb only rests on these.
 * @param {HTMLElement} place
 * @param {Store} store
 * @param {NumberKey} key
 * @param {{axis?: string, notes?: string}} [names] of what stands in the first line under the axis, and in the second
 * @returns {(stops: Stop[], value: number) => void} shows these stops, lowest first, and where the slider stands
 */
export function axisSlider(place, store, key, { axis, notes } = {}) {
  const { label, help } = parameters[key];
  /** @type {Stop[]} */
  let stops = [];
  const values = () => stops.map(({ value }) => value);
  /** @param {number} value */
  const choose = (value) => {
    // The thumb goes back to its stop even if that is where it came from.
    input.valueAsNumber = Math.log(value);
    store.set({ [key]: value });
  };
  const input = make("input", {
    type: "range",
    step: "any",
    title: help,
    ariaLabel: label,
    // Until there is something to choose from.
    disabled: true,
    oninput: () => choose(nearestStop(values(), Math.exp(input.valueAsNumber))),
    onkeydown(event) {
      const all = values();
      const at = all.indexOf(nearestStop(all, Math.exp(input.valueAsNumber)));
      const by = KEYS.get(event.key);
      const next = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : by && at + by;
      if (next === undefined) return;
      event.preventDefault();
      choose(all[Math.min(all.length - 1, Math.max(0, next))]);
    },
  });
  const ticks = make("div", { className: "ticks", ariaHidden: "true" });
  // Real elements, so that a saved figure has them too.
  const names = [
    ...(axis ? [make("i", { className: "axis-name" }, axis)] : []),
    ...(notes ? [make("small", { className: "notes-name" }, notes)] : []),
  ];
  place.classList.add("axis-slider");
  place.append(input, ticks);

  return (next, value) => {
    if (JSON.stringify(next) !== JSON.stringify(stops)) {
      stops = next;
      // A single stop is in the middle.
      const apart = next.length > 1 ? 0 : 1;
      const [low, high] = [Math.log(next[0].value) - apart, Math.log(next[next.length - 1].value) + apart];
      input.min = String(low);
      input.max = String(high);
      input.disabled = next.length < 2;
      let labelled = -1;
      ticks.classList.toggle("many", next.length > 7);
      ticks.replaceChildren(
        ...names,
        ...next.map((stop) => {
          const at = (Math.log(stop.value) - low) / (high - low);
          const tick = make(
            "span",
            {},
            make("b", {}, stop.label),
            ...(stop.note ? [make("small", {}, stop.note)] : []),
          );
          tick.style.setProperty("--at", String(at));
          if (at - labelled >= LABEL_GAP) labelled = at;
          else tick.classList.add("crowded");
          return tick;
        }),
      );
    }
    input.valueAsNumber = Math.log(value);
    const stop = stops.find((one) => one.value === value);
    const note = stop?.note && `${stop.note} ${notes ?? ""}`.trim();
    input.setAttribute("aria-valuetext", [stop?.label, note].filter(Boolean).join(", "));
    ticks.querySelectorAll("span").forEach((tick, i) => tick.classList.toggle("selected", stops[i].value === value));
  };
}
