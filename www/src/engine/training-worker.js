/**
 * Where experiments run: this worker owns a WebAssembly instance, an engine and some shards of one experiment.
 * The page drives: it asks for one slice of training after the other, and for a preview or a snapshot in between. So to
 * pause is not to ask, and to cancel is to end the worker. Another such worker, without an experiment, checks the
 * library.
 */
import init, {
  Dataset,
  Engine,
  PictureSet,
  Run,
  checkCount,
  imagesNeeded,
  presetConfig,
  selfCheck,
  shards,
  unzip,
  useEigen,
} from "../../pkg/hidden_gaussian.js";
import { prepareFor } from "./eigen.js";
import { importer } from "./import.js";
import { notStarted } from "./protocol.js";
import { serve } from "./serve.js";

/**
 * @import { ExperimentRun, Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 * @import { OwnImages, TrainingCalls } from "./protocol.js"
 */

const { importFiles, makeDataset } = importer({ Dataset, PictureSet, unzip });

/** @type {Promise<Dataset> | undefined} */
let data;
/** One per shard, once all have started. @type {ExperimentRun<any>[]} */
let runs = [];
/** The engine that is being checked. @type {{kind: "cpu" | "gpu", engine: Engine} | undefined} */
let checked;

/** @type {{[K in keyof TrainingCalls]: (payload: TrainingCalls[K]["call"]) => Promise<TrainingCalls[K]["result"]>}} */
const handlers = {
  async plan({ options, own, workers }) {
    const { experiment, preset, seed, config: changes = {} } = options;
    // Presets look at nothing but the shape of the images. Faces can be drawn in any number; others are needed anyway.
    const few =
      own || options.data.set !== "faces"
        ? await images(options.data, own)
        : Dataset.faces({ size: options.data.size, count: 16, seed: 0 });
    const config = merge(presetConfig({ experiment, preset, data: few, seed }), changes);
    const count = options.data.count || imagesNeeded({ experiment, config }) + options.data.heldOut;
    return { config, shards: shards({ experiment, config, workers }), data: { ...options.data, count } };
  },

  async start({ engine: kind, experiment, recipe, own, shards }) {
    const engine = await Engine.open(kind);
    const set = await images(recipe, own);
    await prepareFor(useEigen, set.info());
    const started = [];
    for (const { config, snapshot } of shards) {
      const run = await Run.start({ engine, data: set, experiment, config });
      if (snapshot) run.restore(new Uint8Array(await snapshot.arrayBuffer()));
      started.push(run);
    }
    runs = started;
    return null;
  },

  advance: ({ milliseconds }) => each((run) => run.advance(milliseconds / runs.length)),
  preview: () => each((run) => run.preview()),
  report: () => each((run) => run.report()),
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
    return { check, count: checkCount(), info: checked.engine.info() };
  },
};

serve(init(), (call, payload) => handlers[/** @type {keyof TrainingCalls} */ (call)](payload));

/**
 * One shard after the other: they may have one GPU between them.
 * @template T
 * @param {(run: ExperimentRun<any>) => Promise<T>} ask
 */
async function each(ask) {
  // The start failed, or the worker that it was in died while nobody waited for it and this one took its place.
  if (runs.length === 0) throw notStarted();
  const results = [];
  for (const run of runs) results.push(await ask(run));
  return results;
}

/**
 * The images of a run, made once: the reader's own, if it is on those, whatever they are called.
 * @param {DataRecipe} recipe
 * @param {OwnImages} [own]
 */
function images(recipe, own) {
  const { size, seed, heldOut } = recipe;
  const made = (data ??= own
    ? importFiles(own.files, { size, seed, heldOut, colour: own.colour })
    : makeDataset(recipe));
  // A failure is not kept: the connection may come back.
  made.catch(() => (data = undefined));
  return made;
}

/** @param {Uint8Array} bytes */
const blob = (bytes) => new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]);

/**
 * `base` with `changes`, field by field. Lists are replaced as a whole, and so is a network by one of another kind.
 * @param {any} base
 * @param {any} changes
 * @returns {any}
 */
function merge(base, changes) {
  const isObject = [base, changes].every((value) => typeof value === "object" && value && !Array.isArray(value));
  if (!isObject || (changes.kind !== undefined && changes.kind !== base.kind)) return changes;
  const merged = { ...base };
  for (const [name, change] of Object.entries(changes)) merged[name] = merge(base[name], change);
  return merged;
}
