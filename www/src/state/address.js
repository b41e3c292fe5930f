/** The page's state as the query of its address. */
import { defaults, keys, parameter } from "./parameters.js";
import { fromLink, RUN_FILE } from "./permalink.js";

/** @import { Key, Values } from "./parameters.js" */

/**
 * Read one value from text.
 * @param {Key} key
 * @param {string} text
 * @returns {string | number | undefined} undefined when the text names no allowed value
 */
export function parse(key, text) {
  const known = parameter(key);
  if (known.type === "choice") return known.options.find(({ value }) => String(value) === text)?.value;
  if (known.type === "text") return text === "" || known.pattern.test(text) ? text : undefined;
  const value = text.trim() === "" ? NaN : Number(text);
  if (known.type === "stops") return known.stops.find((stop) => stop === value);
  const whole = known.scale === "log" || Number.isInteger(value);
  return value >= known.min && value <= known.max && whole ? value : undefined;
}

/**
 * Read the state from a URL's query. What is missing is at its default; what makes no sense too, with a notice.
 * @param {string} search
 * @param {boolean} [own] whether the reader's own images are there
 * @returns {{values: Values, problems: string[]}}
 */
export function fromSearch(search, own = false) {
  const values = defaults();
  const problems = [];
  for (const [name, text] of new URLSearchParams(search)) {
    const key = keys.find((known) => known === name);
    const value = key && parse(key, text);
    if (!key) problems.push(`This page has no setting called “${name}”.`);
    else if (value === undefined) {
      const { label, default: start } = parameter(key);
      problems.push(
        `“${shortened(text)}” is not a valid value for ${label}; ` +
          (start === "" ? "it is left out." : `using ${start}.`),
      );
    } else if (value === "own" && !own)
      problems.push(
        "Your own images are not kept when the page is closed, and a link does not carry them. Choose the files again; until then the page shows Faces.",
      );
    else Object.assign(values, { [key]: value });
  }
  if (values.run && !RUN_FILE.test(values.run) && !fromLink(values))
    problems.push("The configuration of the run in the link is not JSON, so there is no run to repeat.");
  return { values, problems };
}

/** @param {string} text */
const shortened = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/**
 * Write the state as a URL's query: only what differs from the default.
 * @param {Values} values
 * @returns {string} empty, or starting with "?"
 */
export function toSearch(values) {
  const query = new URLSearchParams();
  const start = defaults();
  for (const key of keys) {
    if (values[key] !== start[key]) query.set(key, String(values[key]));
  }
  return query.size ? `?${query}` : "";
}
