/** From generalizing, blue, to memorizing, vermilion: the colours of D_θ and D_M, the same in both themes. */

const BLUE = [0, 114, 178];
const MIDDLE = [243, 241, 236];
const VERMILION = [213, 94, 0];

/** @param {number} fraction memorized fraction */
function mix(fraction) {
  const [from, to, by] = fraction < 0.5 ? [BLUE, MIDDLE, 2 * fraction] : [MIDDLE, VERMILION, 2 * fraction - 1];
  return from.map((channel, i) => Math.round(channel + by * (to[i] - channel)));
}

/** The colour of a memorized fraction; none if it is not a number. @param {number} fraction */
export const memorizedColour = (fraction) =>
  Number.isNaN(fraction) ? "var(--panel)" : `rgb(${mix(fraction).join(" ")})`;

/** Black or white, whichever is easier to read on that colour. @param {number} fraction */
export function memorizedInk(fraction) {
  if (Number.isNaN(fraction)) return "var(--ink)";
  const [red, green, blue] = mix(fraction).map((channel) => (channel / 255) ** 2.2);
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // Where the contrast to both is the same, by the definition of WCAG.
  return luminance > 0.179 ? "#000" : "#fff";
}
