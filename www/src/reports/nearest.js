/**
 * The one of `stops` nearest to `wanted` on a logarithmic scale.
 * @param {readonly number[]} stops
 * @param {number} wanted
 */
export function nearestStop(stops, wanted) {
  /** @param {number} stop */
  const distance = (stop) => Math.abs(Math.log(stop / wanted));
  return stops.reduce((best, stop) => (distance(stop) < distance(best) ? stop : best), stops[0]);
}

/** The different numbers, from small to large. @param {number[]} values */
export const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
