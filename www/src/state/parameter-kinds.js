/** What a parameter can be, and short ways to write one down. */

/** @import { ExperimentName } from "../../pkg/hidden_gaussian.js" */

/**
 * @typedef {object} Common
 * @property {string} label what the control is called
 * @property {string} help one sentence on what it does
 * @property {string} [unit]
 *
 * @typedef {object} Place where a run finds it
 * @property {string} [config] in its configuration, with dots between the names
 * @property {ExperimentName[]} [of] the experiments that have it, if not all do
 * @property {"rising" | "falling"} [list] it is several numbers, in this order
 *
 * @typedef {Common & {type: "stops", default: number, stops: number[]}} Stops
 *   one of a few numbers in order, shown as a slider
 * @typedef {Common & {type: "range", default: number, min: number, max: number, scale: "linear" | "log"}} Range
 *   any number of an interval; whole numbers when the scale is linear
 * @typedef {Common & Place & {type: "text", default: string, pattern: RegExp, form: string}} Text
 *   words of this form; `form` says it as a sentence
 * @typedef {Choice<string | number> | Stops | Range | Text} Parameter
 * @typedef {{pattern: RegExp, form: string}} Form how a text must look, for the machine and for the reader
 */

/**
 * @template {string | number} V
 * @typedef {Common & Place & {type: "choice", default: V, options: {value: V, label: string}[]}} Choice one of a few named values
 */

/**
 * The values that a parameter can have.
 * @template P
 * @typedef {P extends Choice<infer V> ? V : P extends Text ? string : number} ValueOf
 */

/** The largest seed that the page chooses: 32 bits keep a link short, and the generator would take more. */
const MAX_SEED = 0xffffffff;

/**
 * The first option is the default.
 * @template {string | number} const V
 * @param {string} label
 * @param {string} help
 * @param {readonly (readonly [V, string])[]} options
 * @param {Place & {unit?: string, default?: NoInfer<V>}} [more]
 * @returns {Choice<V>}
 */
export const choice = (label, help, options, more = {}) => ({
  type: "choice",
  label,
  help,
  default: options[0][0],
  options: options.map(([value, name]) => ({ value, label: name })),
  ...more,
});

/** @type {(label: string, help: string, start: number, stops: number[]) => Stops} */
export const stops = (label, help, start, values) => ({ type: "stops", label, help, default: start, stops: values });

/** @type {(label: string, help: string, start: number, min: number, max: number) => Range} */
export const range = (label, help, start, min, max) => ({
  type: "range",
  label,
  help,
  default: start,
  min,
  max,
  scale: "linear",
});

/** @type {(label: string, help: string, start: number, min: number, max: number) => Range} */
export const logRange = (label, help, start, min, max) => ({ ...range(label, help, start, min, max), scale: "log" });

/** @type {(label: string, help: string) => Range} */
export const seed = (label, help) => range(label, help, 1, 0, MAX_SEED);

/** Something to type; left empty, it is as the preset has it. @type {(label: string, help: string, form: Form, place?: Place) => Text} */
export const field = (label, help, form, place = {}) => ({ type: "text", label, help, default: "", ...form, ...place });

/** A whole number of at most so many digits. @type {(digits: number) => Form} */
export const whole = (digits) => ({
  pattern: new RegExp(`^[1-9]\\d{0,${digits - 1}}$`),
  form: `A whole number from 1 to ${"9".repeat(digits)}.`,
});

/** Up to 16 whole numbers of at most so many digits. @type {(digits: number, example: string) => Form} */
export const wholes = (digits, example) => {
  const one = `[1-9]\\d{0,${digits - 1}}`;
  return {
    pattern: new RegExp(`^${one}( ${one}){0,15}$`),
    form: `Up to 16 whole numbers from 1 to ${"9".repeat(digits)}, such as ${example}.`,
  };
};
