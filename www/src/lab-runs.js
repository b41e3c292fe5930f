/** What the lab's knobs mean, and how runs are told apart. */
import { count, significant } from "./format.js";

/**
 * @typedef {import("./parameters.js").Values} Values
 * @typedef {import("./report.js").Report} Report
 * @typedef {import("./permalink.js").RunOptions} RunOptions
 * @typedef {import("./report.js").DataRecipe} DataRecipe
 */

/** The same images as in the recorded runs: their seed, and how many of them no network sees. */
const DATA_SEED = 1;
const HELD_OUT = 500;
/** The largest training set of the presets. */
const LARGEST = { quick: 4096, main: 4096, faithful: 8192 };
/** A network of the other kind than the preset's begins as the preset of its kind does. */
const NETWORKS = {
  mlp: { kind: "mlp", width: 192, depth: 2 },
  unet: { kind: "unet", width: 16, levels: 2, norm: "none" },
};

/**
 * The run that the lab's controls ask for: its configuration has only what differs from the preset.
 * @param {Readonly<Values>} values
 * @param {DataRecipe} [own] the reader's own images
 * @returns {RunOptions}
 */
export function labOptions(values, own) {
  /** @param {"sizes" | "size" | "width" | "depth" | "steps" | "batch" | "rate" | "sampler" | "samples" | "seeds"} name */
  const list = (name) => (values[`lab.${name}`] === "" ? undefined : values[`lab.${name}`].split(" ").map(Number));
  /** @param {Parameters<typeof list>[0]} name */
  const number = (name) => list(name)?.[0];

  const { "lab.preset": preset, "lab.data": set, "lab.seed": seed, "lab.network": network } = values;
  const usual = preset === "faithful" ? "unet" : "mlp";
  const kind = network === "preset" ? usual : network;
  const size = number("size") ?? (kind === "unet" ? 16 : set === "fashion" || set === "mnist" ? 14 : 12);
  const mine = set === "own" ? own : undefined;
  const sizes = list("sizes")?.sort((a, b) => a - b) ?? (mine && doublings(mine.count - mine.heldOut));
  const count = Math.max(...(sizes ?? [LARGEST[preset]])) + HELD_OUT;
  const data = mine ?? { set, size, seed: DATA_SEED, count, heldOut: HELD_OUT };
  const depth = number("depth");
  const architecture = given({
    ...(kind === usual ? {} : NETWORKS[kind]),
    ...(kind === "unet" && kind !== usual ? { shape: { height: data.size, width: data.size, channels: 1 } } : {}),
    width: number("width") ?? (kind === usual ? undefined : NETWORKS[kind].width),
    [kind === "unet" ? "levels" : "depth"]: depth ?? (kind === usual ? undefined : 2),
  });
  const seeds = number("seeds");
  const config = given({
    sizes,
    seeds: seeds && Array.from({ length: seeds }, (_, i) => seed + i),
    train: given({ steps: number("steps"), batch: number("batch"), rate: number("rate"), architecture }),
    look: given({ samplerSteps: number("sampler"), samples: number("samples") }),
  });
  return { experiment: "transition", preset, data, seed, ...(config && { config }) };
}

/** 16, 32, … as far as there are images; with fewer than that, all of them. @param {number} images */
function doublings(images) {
  const sizes = [];
  for (let n = 16; n <= images; n *= 2) sizes.push(n);
  return sizes.length > 0 ? sizes : [images];
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
 * @param {Pick<Report, "config" | "data">} recorded a run of the preset
 * @returns {Record<string, string>}
 */
export function presetValues({ config: { sizes, train, look }, data }) {
  const { architecture } = train;
  return {
    sizes: sizes.join(" "),
    size: String(data.size),
    // Recorded runs have several, for their error bars.
    seeds: "1",
    width: String(architecture.width),
    depth: String(architecture.depth ?? architecture.levels),
    steps: String(train.steps),
    batch: String(train.batch),
    rate: significant(train.rate, 2),
    sampler: String(look.samplerSteps),
    samples: String(look.samples),
  };
}

const EXPERIMENTS = {
  transition: "Transition",
  "gaussian-bias": "Gaussian bias",
  emergence: "Emergence",
  "strong-generalization": "Two halves",
};

/**
 * A run in words: a title, and what it was trained with.
 * @param {RunOptions} options
 * @param {Report} [report]
 * @returns {{title: string, details: string}}
 */
export function describe({ experiment, preset, data, seed, config }, report) {
  const title = `${EXPERIMENTS[experiment]}, ${preset}, ${data.set} ${data.size} × ${data.size}`;
  const train = report?.config.train;
  if (!train) {
    const changes = config ? Object.entries(flat(config)).map(([name, value]) => `${name} ${value}`) : [];
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
      typeof value === "object" && !Array.isArray(value)
        ? Object.entries(flat(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, String(value)]],
    ),
  );
}
