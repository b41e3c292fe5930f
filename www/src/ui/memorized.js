/**
 * The colours of cells, the same in both themes: from generalizing, blue, to memorizing, vermilion, which are those of D_θ and
 * D_M; and towards that of D_G.
 */

const BLUE = [0, 114, 178];
const MIDDLE = [243, 241, 236];
const VERMILION = [213, 94, 0];
const ORANGE = [230, 159, 0];

/** @param {number[]} from @param {number[]} to @param {number} by */
const between = (from, to, by) => from.map((channel, i) => Math.round(channel + by * (to[i] - channel)));

/** @param {number} fraction memorized fraction */
const mix = (fraction) =>
  fraction < 0.5 ? between(BLUE, MIDDLE, 2 * fraction) : between(MIDDLE, VERMILION, 2 * fraction - 1);

/** None if it is of something that is not a number. @param {number[]} channels */
const colour = (channels) => (channels.some(Number.isNaN) ? "var(--panel)" : `rgb(${channels.join(" ")})`);

/** The colour of a memorized fraction. @param {number} fraction */
export const memorizedColour = (fraction) => colour(mix(fraction));

/** The colour of a cosine with D_G's samples: cubed, since few are small. Black can be read on all. @param {number} cosine */
export const likenessColour = (cosine) => colour(between(MIDDLE, ORANGE, cosine ** 3));

/** Black or white, whichever is easier to read on that colour. @param {number} fraction */
export function memorizedInk(fraction) {
  if (Number.isNaN(fraction)) return "var(--ink)";
  const [red, green, blue] = mix(fraction).map((channel) => (channel / 255) ** 2.2);
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // Where the contrast to both is the same, by the definition of WCAG.
  return luminance > 0.179 ? "#000" : "#fff";
}
