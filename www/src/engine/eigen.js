/**
 * The library that finds the principal axes of large images. It is fetched when it is first needed: small images do
 * without, and most readers look at nothing else.
 */
import init, { Eigen } from "../../pkg/eigen/hidden_gaussian_eigen.js";

/** Images of more numbers than this need it. */
const SMALL = 256;

/**
 * Fetch it for images of this shape, if they need it.
 * @param {(solver: typeof Eigen) => void} useEigen how the library at hand is told
 * @param {{width: number, height: number, channels: number}} shape
 */
export async function prepareFor(useEigen, { width, height, channels }) {
  if (width * height * channels > SMALL) await loadEigen(useEigen);
}

/** @param {(solver: typeof Eigen) => void} useEigen */
export async function loadEigen(useEigen) {
  await init().catch(() => {
    throw {
      kind: "Network",
      message: "The library for large images could not be fetched",
      hint: "Check the connection and try again.",
    };
  });
  useEigen(Eigen);
}
