/** What a figure can train here: the recorded networks once more or, where that takes long or lacks the images, fewer or smaller ones. */
import { count, list } from "../ui/format.js";
import { DATA_SETS, isPageSet, QUICK_FACES, RECORDED } from "../state/data-sets.js";
import { configOf, networkCount } from "./estimate.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Preset, Report } from "../reports/report.js"
 */

/**
 * @typedef {object} Offer
 * @property {string} label of the button: what it trains, if that is not what is recorded
 * @property {string} about what would be trained, in a few words
 * @property {RunOptions} options
 */

/** The preset in the name of a recorded run, such as `cifar-cifar10`. @param {string} run */
export const presetOf = (run) => /** @type {Preset} */ (run.slice(0, run.lastIndexOf("-")));

/** The data set in it. @param {string} run */
export const dataOf = (run) => run.slice(run.lastIndexOf("-") + 1);

/** A U-Net has all axes of photographs after a few dozen steps; the rest of its run, and most samples, only take time. */
const FIRST_STEPS = { train: { steps: 400 }, evaluation: { samples: 128 } };

/**
 * What can be trained in place of a recorded run, the same networks first.
 * @template {ExperimentName} E
 * @param {E} experiment
 * @param {string} run preset and data set, such as `main-faces`
 * @param {Report<E>} recorded
 * @param {number} seed
 * @returns {Offer[]} none if the page does not have the images
 */
export function offers(experiment, run, recorded, seed) {
  const { data } = recorded;
  if (!isPageSet(data.set)) return [];
  const preset = presetOf(run);
  /** @param {Omit<RunOptions, "experiment" | "seed">} rest @param {string} label @returns {Offer} */
  const offer = (rest, label) => {
    const options = { experiment, seed, ...rest };
    return { label, about: describe(options), options };
  };
  // The page has the first images of CIFAR-10, too few for the recorded sizes.
  if (preset.startsWith("cifar")) {
    const { size, heldOut = RECORDED.heldOut } = DATA_SETS[data.set];
    const few = { set: data.set, size, count: 0, seed: RECORDED.seed, heldOut };
    const quick = { preset: /** @type {const} */ ("cifar-quick"), data: few };
    const { sizes } = configOf({ experiment, ...quick });
    const which = sizes.length === 1 ? "a smaller U-Net" : preset === "cifar" ? "smaller U-Nets" : "U-Nets";
    const train = (/** @type {string} */ what, /** @type {RunOptions["config"]} */ config = undefined) =>
      offer({ ...quick, ...(config && { config }) }, `Train ${which} here: ${what}`);
    return [
      train(`${listOf(sizes)} images`),
      ...(sizes.length > 2 ? [train(`${listOf(ends(sizes))} images`, { sizes: ends(sizes) })] : []),
      ...(experiment === "modes" ? [train(`${FIRST_STEPS.train.steps} steps`, FIRST_STEPS)] : []),
    ];
  }
  const config = withSeed(experiment, preset, recorded.config, seed);
  const repeat = offer({ preset, data, config }, "Train it here");
  const { sizes } = config;
  if (experiment === "transition" || experiment === "strong-generalization") {
    const fewer = [...new Set([sizes[0], sizes[Math.floor(sizes.length / 2)], sizes[sizes.length - 1]])];
    if (fewer.length === sizes.length) return [repeat];
    return [
      repeat,
      offer({ preset, data, config: { ...config, sizes: fewer } }, `Train only on ${listOf(fewer)} images`),
    ];
  }
  if (preset === "quick") return [repeat];
  const quick = {
    preset: /** @type {const} */ ("quick"),
    data: data.set === "faces" ? QUICK_FACES : { ...data, count: 0 },
  };
  const small = configOf({ experiment, ...quick }).sizes;
  const which = config.others ? "the small networks" : "the small MLP";
  return [repeat, offer(quick, `Train ${which} here: ${listOf(small)} images`)];
}

/**
 * A recorded configuration from one seed, in the form that the library has now; two networks that share no image have two.
 * @param {ExperimentName} experiment
 * @param {Preset} preset
 * @param {any} config
 * @param {number} seed
 */
function withSeed(experiment, preset, { seed: _seed, seeds: _seeds, ...config }, seed) {
  const { seeds } = configOf({ experiment, preset });
  if (!seeds) return { ...config, seed };
  const pair = [seed, seed + 1];
  if (Array.isArray(seeds[0])) return { ...config, seeds: [pair] };
  return { ...config, seeds: experiment === "strong-generalization" ? pair : [seed] };
}

/** @param {number[]} sizes */
const ends = (sizes) => [sizes[0], sizes[Math.floor(sizes.length / 2)]];

/** @param {number[]} sizes */
const listOf = (sizes) =>
  sizes.length > 3 ? `${count(sizes[0])} to ${count(sizes[sizes.length - 1])}` : list(sizes.map(count));

/** @param {RunOptions} options */
function describe(options) {
  const config = configOf(options);
  const kinds = [config.train, ...(config.others ?? [])].map(({ architecture: { kind, width } }) =>
    kind === "mlp" ? `MLPs of width ${count(width)}` : "U-Nets",
  );
  const all = networkCount(config) * (options.experiment === "strong-generalization" ? pairs(config) : 1);
  const networks = [...new Set(kinds)].map((kind) => {
    const many = (all / kinds.length) * kinds.filter((other) => other === kind).length;
    return `${count(many)} ${many > 1 ? kind : kind.replace("s", "")}`;
  });
  const widths = config.widths ? ` and ${config.widths.length} widths` : "";
  const { steps } = config.trainLong ?? config.train;
  return `${list(networks)}, on ${listOf(config.sizes)} images${widths}, ${kinds.length > 1 ? "up to " : ""}${count(steps)} steps${all > 1 ? " each" : ""}`;
}

/** Two networks per size, counted in `seeds` already or not. @param {any} config */
const pairs = ({ seeds }) => (typeof seeds?.[0] === "number" && seeds.length === 2 ? 1 : 2);
