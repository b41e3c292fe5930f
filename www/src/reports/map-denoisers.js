/** @import { DenoiserId } from "../../pkg/hidden_gaussian.js" */

/**
 * The same for each denoiser that `measured` has something of. It does without the table, so that the workers do.
 * @template T, U
 * @param {Partial<Record<DenoiserId, T>>} measured
 * @param {(value: T, id: DenoiserId) => U} change
 * @returns {Partial<Record<DenoiserId, U>>}
 */
export const mapDenoisers = (measured, change) =>
  Object.fromEntries(
    Object.entries(measured).map(([id, value]) => [id, change(value, /** @type {DenoiserId} */ (id))]),
  );
