/** Numbers as the reader sees them. */

const whole = new Intl.NumberFormat("en");

/** A count, with thousands separated. @param {number} value */
export const count = (value) => whole.format(value);

/**
 * A number with so many significant digits; an exponent only below 0.0001.
 * @param {number} value
 * @param {number} [digits]
 */
export function significant(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1);
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

/** A number with so many decimals. @param {number} value @param {number} [decimals] */
export const fixed = (value, decimals = 2) => (Number.isFinite(value) ? value.toFixed(decimals) : "–");

/** A number that may be negative, with a minus that is one; nothing is not negative. @param {number} value */
export function signed(value) {
  const text = fixed(value);
  return text.replace("-", Number(text) === 0 ? "" : "−");
}

/** A fraction as percent, on one line; never rounds a rest away. @param {number} fraction */
export function percent(fraction) {
  if (!Number.isFinite(fraction)) return "–";
  const value = 100 * fraction;
  if (value > 0 && value < 0.1) return "< 0.1\u202f%";
  if (value > 99.9 && value < 100) return "> 99.9\u202f%";
  const decimals = value === 0 || value === 100 || (value >= 10 && value <= 99) ? 0 : 1;
  return `${value.toFixed(decimals)}\u202f%`;
}

/** @param {number} ms */
export const milliseconds = (ms) => (ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A time as one would say it. @param {number} seconds */
export const duration = (seconds) =>
  seconds < 90
    ? `${Math.max(1, Math.round(seconds))} s`
    : seconds < 5400
      ? `${Math.round(seconds / 60)} min`
      : `${(seconds / 3600).toFixed(1)} h`;

/** From the least of several numbers to the largest. @param {number[]} values @param {(value: number) => string} format */
export function range(values, format) {
  if (values.length === 0) return "–";
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => format(value));
  return least === most ? least : `${least} to ${most}`;
}

/** Text with a note behind it, if there is one. @param {string} text @param {string} note */
export const noted = (text, note) => (note ? `${text} (${note})` : text);

/** One, two and three. @param {string[]} words */
export const list = (words) =>
  words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : (words[0] ?? "");

/** Sentences one after the other; some may be empty. @param {string[]} all */
export const sentences = (...all) => all.filter((text) => text !== "").join(" ");

/** Text with its full stop; the engine's messages come without. @param {string} text */
export const sentence = (text) => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`);
