/** How long a run would take on this machine, before anything is trained: its operations over the rate of the engine. */
import DENOISER_TABLE from "../tables/denoisers.json" with { type: "json" };
import PRESET_TABLE from "../tables/presets.json" with { type: "json" };
import GIGAFLOP_TABLE from "../tables/gigaflop.json" with { type: "json" };

/**
 * @import { EngineInfo, RunOptions } from "../engine/protocol.js"
 * @import { EngineChoice } from "../state/parameters.js"
 */

/**
 * @typedef {object} Machine
 * @property {number} cores
 * @property {EngineChoice} choice
 * @property {EngineInfo["rates"]} rates of a matrix multiply, in 10⁹ operations per second; the CPU's for one core
 * @property {Partial<Record<"cpu" | "gpu", number>>} reached the same of runs that were trained here
 */

/**
 * What a run reaches of the rate of a matrix multiply: small layers, optimizer, noise and evaluation take the rest. In Chromium on
 * two cores, at 56 GFLOP/s each, Figure II.1's small MLPs take 8 s and Figure III.1's take 17 s. On a GPU, small networks
 * mostly wait for their dispatches.
 */
const EFFICIENCY = { cpu: 0.6, gpu: 0.2 };

/** The networks of a configuration, each as often as it has steps. @param {any} config */
function networkSteps({ sizes = [], seeds, train, trainLong, widths = [], widthSizes = [] }) {
  const each = seeds?.length ?? 1;
  if (trainLong) return each * (sizes.length * trainLong.steps + widths.length * widthSizes.length * train.steps);
  return each * sizes.length * train.steps;
}

/**
 * The work of denoisers that came after the paper, in 10⁹ operations: the work of presets does not include it. They
 * reach the rate of a matrix multiply, which networks do not.
 * @param {any} config
 * @param {number} dim
 */
function theoriesGigaflop({ sizes = [], evaluation }, dim) {
  const later = DENOISER_TABLE.filter(({ id, equation }) => equation === null && evaluation?.denoisers?.includes(id));
  if (later.length === 0) return 0;
  const { samples, samplerSteps, method, images, sigmas } = evaluation;
  const denoised = samples * samplerSteps * (method === "heun" ? 2 : 1) + 5 * images * sigmas.length;
  /** @param {number} n */
  const each = (n) =>
    later.map(({ work: [squares, rows, cubes] }) => squares * dim ** 2 + n * (rows * dim + cubes * dim ** 2));
  const multiplyAdds = sizes
    .flatMap(each)
    .reduce((/** @type {number} */ sum, /** @type {number} */ work) => sum + work, 0);
  return 2e-9 * EFFICIENCY.cpu * denoised * multiplyAdds;
}

/** How many networks a configuration trains. @param {any} config */
export const networkCount = ({ sizes = [], seeds, widths = [], widthSizes = [], others = [] }) =>
  (seeds?.length ?? 1) * (sizes.length + widths.length * widthSizes.length) * (1 + others.length);

/**
 * The whole configuration of a run, as far as its size matters.
 * @param {Pick<RunOptions, "experiment" | "preset" | "config">} options
 * @returns {any}
 */
export function configOf({ experiment, preset, config = {} }) {
  const base = /** @type {any} */ (PRESET_TABLE)[experiment][preset];
  /** @param {any} train @param {any} [changes] */
  const changed = (train, changes) => ({
    ...train,
    ...changes,
    architecture: { ...train.architecture, ...changes?.architecture },
  });
  return {
    ...base,
    ...config,
    train: changed(base.train, config.train),
    ...(base.trainLong && { trainLong: changed(base.trainLong, config.trainLong) }),
    ...(base.evaluation && { evaluation: { ...base.evaluation, ...config.evaluation } }),
  };
}

/** The preset whose work is known for a network of the other kind than the chosen preset’s. */
const PRESET_OF = /** @type {const} */ ({ mlp: "quick", unet: "faithful" });
/** Pixel values of the images that MLPs of the presets are trained on. */
const MLP_PIXELS = 12 * 12;

/**
 * What a training step costs, in proportion to others of the same kind of network: a U-Net works on every pixel, an MLP has
 * them in its first and its last layer.
 * @param {any} train
 * @param {number} pixels
 */
function stepCost({ architecture: { kind, width, depth = 2 }, batch }, pixels) {
  return batch * (kind === "unet" ? pixels * width ** 2 : 2 * pixels * width + depth * width ** 2);
}

/**
 * The work of a run in 10⁹ operations. The library counts it for each preset; what differs from the preset counts in proportion.
 * @param {Pick<RunOptions, "experiment" | "preset" | "config"> & Partial<Pick<RunOptions, "data">>} options
 */
export function gigaflop(options) {
  const { experiment, data } = options;
  const config = configOf(options);
  const { kind } = config.train.architecture;
  const chosen = configOf({ experiment, preset: options.preset });
  const preset =
    kind === chosen.train.architecture.kind ? options.preset : PRESET_OF[/** @type {"mlp" | "unet"} */ (kind)];
  const base = configOf({ experiment, preset });
  const { height = 0, width = 0 } = base.train.architecture.shape ?? {};
  const usual = height * width || MLP_PIXELS;
  const pixels = data ? data.size ** 2 : usual;
  const whole = /** @type {any} */ (GIGAFLOP_TABLE)[experiment][preset];
  const perStep = stepCost(config.train, pixels) / stepCost(base.train, usual);
  return (whole * perStep * networkSteps(config)) / networkSteps(base) + theoriesGigaflop(config, pixels);
}

/**
 * @param {Parameters<typeof gigaflop>[0]} options
 * @param {Machine} machine
 * @returns {{seconds: number, engine: "cpu" | "gpu"} | undefined} undefined when the engines were not measured
 */
export function estimate(options, { cores, choice, rates, reached }) {
  // On the CPU each network may have a core of its own.
  const workers = Math.min(cores, networkCount(configOf(options)));
  const speeds = {
    cpu: reached.cpu ?? EFFICIENCY.cpu * (rates.cpu ?? 0) * workers,
    gpu: reached.gpu ?? EFFICIENCY.gpu * (rates.gpu ?? 0),
  };
  const engine = choice === "auto" ? (speeds.gpu > speeds.cpu ? "gpu" : "cpu") : choice;
  return speeds[engine] > 0 ? { seconds: gigaflop(options) / speeds[engine], engine } : undefined;
}
