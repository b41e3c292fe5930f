import { make } from "./dom.js";
import { count, significant } from "./format.js";
import { parameter } from "../state/parameters.js";
import { fromFraction, toFraction } from "../state/slider-scale.js";

/**
 * @import { Choice, Range, Stops, Text } from "../state/parameter-kinds.js"
 * @import { Key } from "../state/parameters.js"
 * @import { Store } from "../state/store.js"
 */

/** Steps of a log slider: each is about 2.5 % of the value, finer than a finger and coarse enough for the keys. */
const LOG_STEPS = 424;

let made = 0;
/** An id of its own for each control, because one parameter may have several. */
const newId = () => `control-${++made}`;

/**
 * Fill every `[data-control=key]` with the control that its parameter asks for, and wire every button that draws a new
 * seed or steps a number.
 * @param {ParentNode} root
 * @param {Store} store
 */
export function mountControls(root, store) {
  for (const place of root.querySelectorAll("[data-control]")) {
    const key = /** @type {Key} */ (place.getAttribute("data-control"));
    const known = parameter(key);
    if (known.type === "choice") place.append(choice(key, known, store));
    else if (known.type === "text") place.append(...textField(key, known, store));
    else place.append(...slider(key, known, store));
  }
  for (const button of root.querySelectorAll("[data-new-seed]")) {
    const key = /** @type {Key} */ (button.getAttribute("data-new-seed"));
    button.addEventListener("click", () => store.set({ [key]: crypto.getRandomValues(new Uint32Array(1))[0] }));
  }
  for (const button of root.querySelectorAll("[data-step]")) {
    const key = /** @type {Key} */ (button.getAttribute("data-step"));
    const { min, max } = /** @type {Range} */ (parameter(key));
    button.addEventListener("click", () => {
      // Around the end of what there is, which the figure may know better.
      const end = Number(button.getAttribute("data-end")) || max;
      const now = ((Number(store.values[key]) - min) % (end - min + 1)) + min;
      const next = now + Number(button.getAttribute("data-by"));
      store.set({ [key]: next < min ? end : next > end ? min : next });
    });
  }
}

/**
 * Tell the buttons that step through something how many there are.
 * @param {ParentNode} root
 * @param {Key} key
 * @param {number} end
 */
export function setEnd(root, key, end) {
  for (const button of root.querySelectorAll(`[data-step="${key}"]`)) button.setAttribute("data-end", String(end));
}

/**
 * Radio buttons in a row.
 * @param {Key} key
 * @param {Choice<string | number>} parameter
 * @param {Store} store
 */
function choice(key, parameter, store) {
  const name = newId();
  const inputs = parameter.options.map(({ value }) =>
    make("input", { type: "radio", name, value: String(value), onchange: () => store.set({ [key]: value }) }),
  );
  const labels = parameter.options.map(({ label }, i) => make("label", {}, inputs[i], make("span", {}, label)));
  // The reader's own images can only be chosen once there are some.
  const showOwn = () =>
    labels.forEach((label, i) => (label.hidden = parameter.options[i].value === "own" && !store.own));
  store.onOwn(showOwn);
  showOwn();
  const show = () => {
    for (const input of inputs) input.checked = input.value === String(store.values[key]);
  };
  store.subscribe([key], show);
  show();
  return make(
    "fieldset",
    { className: "choice", title: parameter.help },
    make("legend", {}, parameter.unit ? `${parameter.label} (${parameter.unit})` : parameter.label),
    make("div", { className: "segments" }, ...labels),
  );
}

/**
 * A slider with its label and its value; a log scale gets ticks.
 * @param {Key} key
 * @param {Stops | Range} parameter
 * @param {Store} store
 */
function slider(key, parameter, store) {
  const id = newId();
  const last =
    parameter.type === "stops"
      ? parameter.stops.length - 1
      : parameter.scale === "log"
        ? LOG_STEPS
        : parameter.max - parameter.min;
  /** @param {number} position */
  const valueAt = (position) =>
    parameter.type === "stops" ? parameter.stops[position] : fromFraction(parameter, position / last);
  /** @param {number} value */
  const positionOf = (value) =>
    parameter.type === "stops" ? parameter.stops.indexOf(value) : Math.round(toFraction(parameter, value) * last);

  const input = make("input", {
    type: "range",
    id,
    min: "0",
    max: String(last),
    step: "1",
    title: parameter.help,
    oninput: () => store.set({ [key]: valueAt(input.valueAsNumber) }),
  });
  const output = make("output", {});
  output.htmlFor.add(id);
  const show = () => {
    const value = Number(store.values[key]);
    const text = parameter.type === "range" && parameter.scale === "log" ? significant(value) : count(value);
    input.value = String(positionOf(value));
    input.setAttribute("aria-valuetext", text);
    output.value = text;
  };
  store.subscribe([key], show);
  show();

  const label = make("label", { htmlFor: id }, parameter.label);
  const head = make("div", { className: "slider-head" }, label, output);
  return parameter.type === "range" && parameter.scale === "log" ? [head, input, ticks(parameter)] : [head, input];
}

/**
 * A line of text. What does not have the parameter's form is marked, with a sentence that says what has, and changes nothing.
 * @param {Key} key
 * @param {Text} parameter
 * @param {Store} store
 */
function textField(key, parameter, store) {
  const id = newId();
  const input = make("input", { type: "text", id, title: parameter.help, autocomplete: "off", spellcheck: false });
  const problem = make("p", { className: "field-error", id: `${id}-error`, role: "alert" });
  input.setAttribute("aria-describedby", problem.id);
  /** @param {boolean} fits */
  const mark = (fits) => {
    input.setAttribute("aria-invalid", String(!fits));
    problem.textContent = fits ? "" : parameter.form;
  };
  input.addEventListener("change", () => {
    const text = input.value.trim().replaceAll(/[\s,;]+/g, " ");
    const fits = text === "" || parameter.pattern.test(text);
    mark(fits);
    if (fits) store.set({ [key]: text });
  });
  const show = () => {
    input.value = String(store.values[key]);
    mark(true);
  };
  store.subscribe([key], show);
  show();
  return [make("div", { className: "slider-head" }, make("label", { htmlFor: id }, parameter.label)), input, problem];
}

/** Powers of ten under a log slider, and its two ends. @param {Range} range */
function ticks(range) {
  const row = make("div", { className: "ticks", ariaHidden: "true" });
  const tens = [];
  for (let exponent = Math.ceil(Math.log10(range.min)); 10 ** exponent <= range.max; exponent++) {
    tens.push(Number(`1e${exponent}`));
  }
  for (const value of new Set([range.min, ...tens, range.max])) {
    const tick = make("span", {}, String(value));
    tick.style.setProperty("--at", String(toFraction(range, value)));
    row.append(tick);
  }
  return row;
}
