/**
 * Where experiments run: this worker owns a WebAssembly instance, an engine and some shares of one experiment.
 * The page drives: it asks for one slice of training after the other, and for a look or a snapshot in between. So to
 * pause is not to ask, and to cancel is to end the worker. Another such worker, without an experiment, checks the
 * library.
 */
import init, { Dataset, Engine, PictureSet, Run, checkCount, presetConfig, selfCheck, shares, unzip } from "../../pkg/hidden_gaussian.js";
import { parseReport } from "../report.js";
import { importer } from "./import.js";
import { notStarted } from "./protocol.js";
import { serve } from "./serve.js";

/** @typedef {import("./protocol.js").TrainingCalls} TrainingCalls */

const ready = init({ module_or_path: new URL("../../pkg/hidden_gaussian_bg.wasm", import.meta.url) });
const { importFiles, makeDataset } = importer({ Dataset, PictureSet, unzip });

/** @type {Promise<Dataset> | undefined} */
let data;
/** One for each share, once all have started. @type {Run[]} */
let runs = [];
/** The engine that is being checked. @type {{kind: "cpu" | "gpu", engine: Engine} | undefined} */
let checked;

/** @type {{[K in keyof TrainingCalls]: (payload: TrainingCalls[K]["call"]) => Promise<TrainingCalls[K]["result"]>}} */
const handlers = {
  async plan({ options, own, workers }) {
    const { experiment, preset, seed, config: changes = {} } = options;
    // Presets look at nothing but the shape of the images, and all sets of the page are grey.
    const few = own ? await images(options.data, own) : Dataset.faces({ size: options.data.size, count: 16, seed: 0 });
    const preferred = presetConfig(experiment, preset, few, seed);
    const config = JSON.stringify(merge(JSON.parse(preferred), changes));
    return { config, shares: shares(experiment, config, workers) };
  },

  async start({ engine: kind, experiment, recipe, own, shares }) {
    const engine = await Engine.open(kind);
    const set = await images(recipe, own);
    const started = [];
    for (const { config, snapshot } of shares) {
      const run = await Run.start(engine, set, experiment, config);
      if (snapshot) run.restore(new Uint8Array(await snapshot.arrayBuffer()));
      started.push(run);
    }
    runs = started;
    return null;
  },

  advance: ({ milliseconds }) => each((run) => run.advance(milliseconds / runs.length)),
  glance: () => each(async (run) => parseReport(await run.glance())),
  report: () => each(async (run) => parseReport(await run.report())),
  // As blobs: they outlive this worker, and the page can store them without touching their bytes.
  snapshot: () => each(async (run) => blob(await run.snapshot())),
  weights: () => each(async (run) => (await run.weights()).map(blob)),

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
};

serve(ready, (call, payload) => handlers[/** @type {keyof TrainingCalls} */ (call)](payload));

/**
 * One share after the other: they may have one GPU between them.
 * @template T
 * @param {(run: Run) => Promise<T>} ask
 */
async function each(ask) {
  // The start failed, or the worker that it was in died while nobody waited for it and this one took its place.
  if (runs.length === 0) throw notStarted();
  const answers = [];
  for (const run of runs) answers.push(await ask(run));
  return answers;
}

/**
 * The images of a run, made once: the reader's own, if it is on those, whatever they are called.
 * @param {import("../report.js").DataRecipe} recipe
 * @param {import("./protocol.js").OwnImages} [own]
 */
function images(recipe, own) {
  data ??= own ? importFiles(own.files, { ...recipe, ...own }) : makeDataset(recipe);
  return data;
}

/** @param {Uint8Array} bytes */
const blob = (bytes) => new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]);

/**
 * `base` with `changes`, field by field; lists are replaced as a whole.
 * @param {any} base
 * @param {any} changes
 * @returns {any}
 */
function merge(base, changes) {
  const isObject = [base, changes].every((value) => typeof value === "object" && value && !Array.isArray(value));
  if (!isObject) return changes;
  const merged = { ...base };
  for (const [name, change] of Object.entries(changes)) merged[name] = merge(base[name], change);
  return merged;
}
