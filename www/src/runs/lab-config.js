/** What the lab's settings mean, and how runs are described. */
import { count, significant } from "../ui/format.js";
import { besides } from "../reports/denoisers.js";
import { channelsOf, RECORDED } from "../state/data-sets.js";
import { keys, parameter } from "../state/parameters.js";
// What `hidden-gaussian tables` prints: the library with training need not be there to show it.
import EXPERIMENT_TABLE from "../tables/experiments.json" with { type: "json" };
import PRESET_TABLE from "../tables/presets.json" with { type: "json" };

/**
 * @import { ExperimentName, Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 * @import { RunOptions } from "../engine/protocol.js"
 * @import { Preset, Report } from "../reports/report.js"
 * @import { Place } from "../state/parameter-kinds.js"
 * @import { Key, Values } from "../state/parameters.js"
 */

/** @type {Record<ExperimentName, Record<Preset, Record<string, any>>>} */
const PRESETS = PRESET_TABLE;
/** A network of the other kind than the preset's begins as the preset of its kind does. */
const NETWORKS = {
  mlp: PRESETS.transition.quick.train.architecture,
  unet: PRESETS.transition.faithful.train.architecture,
};
/** Which experiments have denoisers beside their networks. */
const BESIDE = /** @type {Place} */ (parameter("lab.beside"));
/** The first checkpoint of the presets; each of the others is at twice the one before. */
const FIRST_CHECKPOINT = PRESETS.emergence.quick.checkpoints[0];
/** The training sets of presets on which widths are compared. */
const WIDTH_SIZE = PRESETS.emergence.quick.widthSizes[0];

/** The parameters that a run finds somewhere in its configuration. */
const PLACED = keys.flatMap((key) => {
  const known = parameter(key);
  return (known.type === "text" || known.type === "choice") && known.config
    ? [/** @type {const} */ ([key, { ...known, config: known.config }])]
    : [];
});

/**
 * The run that the lab's controls ask for: its configuration has only what differs from the preset.
 * @param {Readonly<Values>} values
 * @param {DataRecipe} [own] the reader's own images
 * @returns {RunOptions}
 */
export function labOptions(values, own) {
  const { "lab.experiment": experiment, "lab.preset": preset, "lab.data": set, "lab.seed": seed } = values;
  const mine = set === "own" ? own : undefined;
  const kind = networkKind(values);

  /** @type {Record<string, any>} */
  const config = {};
  for (const [key, { config: place, of, list, type, default: usual }] of PLACED) {
    const value = values[key];
    if (value === usual || (of && !of.includes(experiment))) continue;
    const numbers = () => String(value).split(" ").map(Number);
    put(config, place, list ? inOrder(numbers(), list) : type === "text" ? numbers()[0] : value);
  }
  const heldOut = number(values["lab.heldOut"]) ?? mine?.heldOut ?? RECORDED.heldOut;
  if (mine) Object.assign(config, { ...ownSizes(experiment, mine.count - heldOut), ...config });
  const data = {
    set: mine?.set ?? set,
    size: mine?.size ?? labSize(values),
    seed: number(values["lab.dataSeed"]) ?? mine?.seed ?? RECORDED.seed,
    // As many as the run needs.
    count: mine?.count ?? 0,
    heldOut,
  };

  const architecture = given({
    ...(kind === usualKind(values) ? {} : NETWORKS[kind]),
    ...(kind === "unet" && kind !== usualKind(values)
      ? { shape: { height: data.size, width: data.size, channels: mine ? 1 : channelsOf(data.set) } }
      : {}),
    ...given({ width: number(values["lab.width"]) }),
    ...given({ [kind === "unet" ? "levels" : "depth"]: number(values["lab.depth"]) }),
    ...(kind === "unet" && values["lab.norm"] !== "none" ? { norm: values["lab.norm"] } : {}),
  });
  if (architecture) put(config, "train.architecture", architecture);
  const seeds = number(values["lab.seeds"]);
  if (seeds) config.seeds = seedsFrom(experiment, seed, seeds);
  if (experiment === "emergence") settleEmergence(config);
  if (values["lab.beside"] !== "paper" && BESIDE.of?.includes(experiment)) {
    put(
      config,
      "evaluation.denoisers",
      besides(values["lab.beside"]).map(({ id }) => id),
    );
  }
  return {
    experiment,
    preset,
    data,
    seed,
    ...(mine && { own: /** @type {const} */ (true) }),
    ...(Object.keys(config).length > 0 && { config }),
  };
}

/**
 * So many seeds from the first one on; where two networks are compared, as many pairs.
 * @param {ExperimentName} experiment
 * @param {number} first
 * @param {number} many
 */
const seedsFrom = (experiment, first, many) =>
  Array.from({ length: many }, (_, i) =>
    experiment === "strong-generalization" ? [first + 2 * i, first + 2 * i + 1] : first + i,
  );

/** Pixels per side of the lab's images. @param {Readonly<Values>} values */
export function labSize(values) {
  const { "lab.size": size, "lab.data": set } = values;
  return number(size) ?? (networkKind(values) === "unet" ? 16 : set === "fashion" || set === "mnist" ? 14 : 12);
}

/** @param {Readonly<Values>} values */
const usualKind = (values) => (values["lab.preset"] === "faithful" ? "unet" : "mlp");

/** @param {Readonly<Values>} values */
function networkKind(values) {
  return values["lab.network"] === "preset" ? usualKind(values) : values["lab.network"];
}

/** A number that was typed, if there is one. @param {string} text */
const number = (text) => (text === "" ? undefined : Number(text));

/** @param {number[]} numbers @param {"rising" | "falling"} order */
const inOrder = (numbers, order) => numbers.sort((a, b) => (order === "rising" ? a - b : b - a));

/**
 * Sizes for as many images as the reader has: there may be fewer than the presets want.
 * @param {ExperimentName} experiment
 * @param {number} images
 */
function ownSizes(experiment, images) {
  if (experiment === "strong-generalization") return { sizes: doublings(Math.floor(images / 2)) };
  const sizes = doublings(images);
  if (experiment === "gaussian-bias") return { sizes: [...new Set([sizes[0], sizes[sizes.length - 1]])] };
  return experiment === "emergence" ? { sizes, widthSizes: [Math.min(images, WIDTH_SIZE)] } : { sizes };
}

/** 16, 32, … as far as there are images; with fewer than that, all of them. @param {number} images */
function doublings(images) {
  const sizes = [];
  for (let n = 16; n <= images; n *= 2) sizes.push(n);
  return sizes.length > 0 ? sizes : [images];
}

/** What is changed of the training holds for both of its parts, over widths and over time. @param {Record<string, any>} config */
function settleEmergence(config) {
  const { steps: _, ...train } = config.train ?? {};
  const long = { ...train, ...config.trainLong };
  if (Object.keys(long).length > 0) config.trainLong = long;
  const last = long.steps;
  if (!last || config.checkpoints) return;
  config.checkpoints = [];
  for (let step = FIRST_CHECKPOINT; step <= last; step *= 2) config.checkpoints.push(step);
  if (config.checkpoints.length === 0) config.checkpoints.push(last);
}

/**
 * Put a value into a nested object.
 * @param {Record<string, any>} object
 * @param {string} place names with dots between them
 * @param {unknown} value
 */
function put(object, place, value) {
  const names = place.split(".");
  const last = names.pop() ?? "";
  let inner = object;
  for (const name of names) inner = inner[name] ??= {};
  inner[last] = value;
}

/**
 * The fields that have a value, or nothing if none has.
 * @param {Record<string, unknown>} fields
 */
function given(fields) {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}

/**
 * What each empty field of the lab stands for.
 * @param {Readonly<Values>} values
 * @param {DataRecipe} [own] the reader's own images
 * @returns {Partial<Record<Key, string>>}
 */
export function presetValues(values, own) {
  const { experiment, preset, data, own: mine } = labOptions(values, own);
  /** @type {Record<string, any>} */
  const config = { ...PRESETS[experiment][preset], ...(mine && ownSizes(experiment, data.count - data.heldOut)) };
  const kind = networkKind(values);
  /** @type {Record<string, any>} */
  const architecture = kind === usualKind(values) ? config.train.architecture : NETWORKS[kind];
  /** @type {Partial<Record<Key, string>>} */
  const fields = {
    "lab.size": String(data.size),
    "lab.heldOut": String(data.heldOut),
    "lab.dataSeed": String(data.seed),
    "lab.width": String(architecture.width),
    "lab.depth": String(architecture.depth ?? architecture.levels),
    "lab.seeds": "1",
  };
  for (const [key, { config: place, list }] of PLACED) {
    const value = place.split(".").reduce((inner, name) => inner?.[name], config);
    if (list && value) fields[key] = value.map(plain).join(" ");
    else fields[key] = typeof value === "number" ? plain(value) : value === null ? "none" : "";
  }
  return fields;
}

/** A number of single precision, as one would type it. @param {number} value */
const plain = (value) => String(Number(value.toPrecision(6)));

/** @type {Record<string, string>} */
const TITLES = Object.fromEntries(EXPERIMENT_TABLE.map(({ name, title }) => [name, title]));

/** What the places in a configuration are called in the lab. */
const NAMES = new Map([
  ...PLACED.map(([, { config, label }]) => /** @type {const} */ ([config, label.toLowerCase()])),
  .../** @type {const} */ ([
    ["train.architecture.kind", "network"],
    ["train.architecture.width", "width"],
    ["train.architecture.depth", "depth"],
    ["train.architecture.levels", "depth"],
    ["evaluation.denoisers", "beside"],
  ]),
]);

/**
 * A run in words: a title, and what it was trained with.
 * @param {RunOptions} options
 * @param {Report} [report]
 * @returns {{title: string, details: string}}
 */
export function describe({ experiment, preset, data, seed, config }, report) {
  // A report of the command line has its whole configuration, and no preset.
  const start = config?.train && config.evaluation && config.train.batch ? "" : ` ${preset},`;
  const title = `${TITLES[experiment]},${start} ${data.set} ${data.size} × ${data.size}`;
  const train = report?.config.train;
  if (!train) {
    const changes = config
      ? Object.entries(flat(config)).map(([place, value]) => `${NAMES.get(place) ?? place} ${value}`)
      : [];
    return { title, details: [`seed ${seed}`, ...changes].join(" · ") };
  }
  const { kind, width, depth, levels } = train.architecture;
  const network = kind === "unet" ? `U-Net ${width} × ${levels}` : `MLP ${width} × ${depth}`;
  const details = [
    network,
    `${count(train.steps)} steps of ${train.batch}`,
    `rate ${significant(train.rate, 2)}`,
    `seed ${seed}`,
    ...(report.config.seeds?.length > 1 ? [`${report.config.seeds.length} seeds`] : []),
  ];
  return { title, details: details.join(" · ") };
}

/**
 * A nested object as one list of names with dots.
 * @param {Record<string, any>} object
 * @param {string} [prefix]
 * @returns {Record<string, string>}
 */
function flat(object, prefix = "") {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.entries(flat(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, [value].flat().join(" ")]],
    ),
  );
}
