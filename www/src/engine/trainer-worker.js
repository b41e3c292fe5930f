/** What needs the library with training, but is no run: its checks, its presets and the descent of Figure III.4. */
import init, { Dataset, Engine, checkCount, presetConfig, selfCheck, wienerDescent } from "../../pkg/hidden_gaussian.js";
import { DATA_SETS } from "../data.js";
import { serve } from "./serve.js";

/**
 * @typedef {import("./protocol.js").TrainerCalls} TrainerCalls
 * @typedef {import("./protocol.js").Pictures} Pictures
 */

/** Pixels a side of the faces that the linear denoiser is trained on: small, so that a wish is granted at once. */
const WIENER_SIZE = 12;

const ready = init({ module_or_path: new URL("../../pkg/hidden_gaussian_bg.wasm", import.meta.url) });

/** The images of the linear denoiser. @type {Dataset} */
let faces;

/** The engine that is being checked. @type {{kind: "cpu" | "gpu", engine: Engine} | undefined} */
let checked;

/** @type {{[K in keyof TrainerCalls]: (payload: TrainerCalls[K]["call"]) => Promise<TrainerCalls[K]["result"]>}} */
const handlers = {
  async selfCheck({ engine: kind, index }) {
    if (checked?.kind !== kind) {
      checked?.engine.free();
      checked = undefined;
      checked = { kind, engine: await Engine.open(kind) };
    }
    const check = await selfCheck(checked.engine, index);
    if (!check) throw { kind: "BadInput", message: `There is no check ${index}`, hint: "" };
    return { check, count: checkCount() };
  },

  async preset({ experiment, preset, size, seed }) {
    // Presets look at nothing but the shape of the images.
    const images = Dataset.faces({ size, count: 16, seed: 0 });
    const config = presetConfig(experiment, preset, images, seed);
    images.free();
    return JSON.parse(config);
  },

  async wiener(options) {
    faces ??= Dataset.faces({ size: WIENER_SIZE, count: DATA_SETS.faces.pool, seed: 0 });
    const { rows, goal, ...numbers } = wienerDescent(faces, options);
    const scale = goal.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
    const show = (/** @type {Float32Array} */ weights) => signedPictures(faces, weights, scale);
    return { ...numbers, rows: rows.map(show), goal: show(goal) };
  },
};

serve(ready, (call, payload) => handlers[/** @type {keyof TrainerCalls} */ (call)](payload));

/**
 * Weights as images: zero is mid-grey, `scale` white and its negative black.
 * @param {Dataset} set whose images they belong to
 * @param {Float32Array} weights
 * @param {number} scale
 * @returns {Pictures}
 */
function signedPictures(set, weights, scale) {
  const { width, height, channels } = set.info();
  const rgba = new Uint8ClampedArray((4 * weights.length) / channels).fill(255);
  for (let pixel = 0; 4 * pixel < rgba.length; pixel++) {
    for (let c = 0; c < 3; c++) {
      rgba[4 * pixel + c] = 127.5 * (1 + weights[channels * pixel + Math.min(c, channels - 1)] / scale);
    }
  }
  return { width, height, rgba };
}
