/**
 * What the page and its workers say to each other. There are two kinds of worker: one for what needs no training
 * ({@link Calls}), and those with all of the library, which run experiments and check it ({@link TrainingCalls}).
 *
 * Every call names the whole setting that it is about, so the worker can answer calls in any order and keep what it
 * likes between them. A call has an id; its answer, `done` or `failed`, carries the same id. Besides answers the worker
 * sends `event`s: which engine runs, and what it is busy with.
 */

/**
 * @import { Check, Config, DatasetInfo, Denoised, DenoiserId, EngineInfo as LibraryEngineInfo, ExperimentName, Progress, RandomFeaturesCurves, RandomFeaturesSetting, Recipe as DataRecipe, WienerDescent } from "../../pkg/hidden_gaussian.js"
 * @import { Preset, Report } from "../reports/report.js"
 * @import { DataName, EngineChoice, Split } from "../state/parameters.js"
 */

/**
 * @template T
 * @typedef {Partial<Record<DenoiserId, T>>} Fitted something of each denoiser that is fitted to the training images
 */

/**
 * @typedef {object} Setting what the denoisers are fitted to, and where
 * @property {EngineChoice} engine
 * @property {DataName} data
 * @property {number} n how many training images; fewer are used when the data set has fewer
 *
 * @typedef {object} Failure the one form of an error, as in the library
 * @property {string} kind
 * @property {string} message what happened
 * @property {string} hint what the reader can do; may be empty
 *
 * @typedef {object} Pictures images of one size, ready to be drawn
 * @property {number} width
 * @property {number} height
 * @property {Uint8ClampedArray<ArrayBuffer>} rgba one image after the other
 *
 * @typedef {LibraryEngineInfo & {compatible: boolean, problem: Failure | null}} EngineInfo `compatible`: whether it is a GPU that has
 *   only WebGPU's compatibility mode; `problem`: why the engine that was asked for does not run, or why it had to start again
 *
 * @typedef {{engine: EngineChoice}} OpenCall start this engine; the result is empty, the `engine` event says the rest
 *
 * @typedef {{setting: Setting}} DescribeCall
 * @typedef {{data: DatasetInfo, n: number, examples: Pictures}} DescribeResult `examples`: the first training images
 *
 * @typedef {{setting: Setting, split: Split, image: number, sigma: number, seed: number}} DenoiseCall
 * @typedef {object} DenoiseResult
 * @property {number} n the number of training images in use
 * @property {number} image the index in use, within the split
 * @property {number} imageCount how many images the split has
 * @property {Pictures} clean
 * @property {Pictures} noisy
 * @property {Fitted<{picture: Pictures, rmse: number}>} denoisers D(x; σ), and its root mean square distance to the clean image
 * @property {Denoised["posterior"]} posterior the largest softmax weights of D_M, the training images that they belong to, and the
 *   effective number of images
 * @property {Pictures} heaviest those training images, as many as the page shows
 * @property {{clean?: string, heaviest?: string}} labels what the clean image and the heaviest show, if the set has labels
 * @property {number} elapsedMs time in the engine
 *
 * @typedef {{setting: Setting, split: Split, image: number, sigmas: number[], seed: number}} SweepCall one image at many
 *   noise levels
 * @typedef {{sigmas: number[], errors: Fitted<number[]>, between: number[], effective: number[]}} SweepResult at each level: root
 *   mean square distances to the clean image, the largest distance between two denoisers, and the effective number of images
 *
 * @typedef {{setting: Setting, seed: number, count: number, index: number}} PathCall the path of one of the samples
 * @typedef {object} Path
 * @property {Pictures} x x_t, one more than there are steps
 * @property {Pictures} d D(x_t), one per step
 * @property {Pictures} nearest the training image nearest to the end point
 * @property {number} index of that training image
 * @property {number} d1 distance to the nearest training image
 * @property {number} d2 distance to the second nearest
 * @property {number[]} toEnd root mean square distance from each D(x_t) to where the path ends
 * @typedef {{sigmas: Float32Array, denoisers: Fitted<Path>, between: number[]}} PathResult
 *   `between`: the largest root mean square distance between two denoisers at each step
 *
 * @typedef {{setting: Setting, seed: number, count: number}} SamplesCall
 * @typedef {object} SampleSet
 * @property {Pictures} images
 * @property {Pictures} nearest
 * @property {Uint32Array} indices of the nearest training images
 * @property {Float32Array} d1
 * @property {Float32Array} d2
 * @property {number} gl mean ‖x − NN(x)‖ / ‖x‖
 * @property {number} glSquared the same over ‖x‖²
 * @property {number} memorized the fraction of samples with d1/d2 < 1/3
 * @typedef {{denoisers: Fitted<SampleSet>, heldOut: {gl: number}, n: number, elapsedMs: number}} SamplesResult
 *
 * @typedef {{setting: RandomFeaturesSetting, images: number}} RandomFeaturesCall the random-features model, for so many training
 *   images; meanwhile `busy` says how far it is, in percent
 *
 * @typedef {{n: number, sigma: number, rate: number, steps: number}} WienerCall gradient descent on a linear denoiser of
 *   faces; `rate` in units of the largest step size that converges
 * @typedef {Omit<WienerDescent, "rows" | "goal" | "pixels"> & {rows: Pictures[], goal: Pictures}} WienerResult `rows`: some rows of
 *   W_t for each of the steps; zero is mid-grey
 *
 * @typedef {{engine: "cpu" | "gpu", index: number}} SelfCheckCall one check of an engine, so that each is shown when it is done
 * @typedef {{check: Check, count: number, info: LibraryEngineInfo}} SelfCheckResult `count`: how many checks there are of an engine;
 *   `info`: what is checked
 *
 * @typedef {{files: File[], size: number, colour: boolean}} ImportCall
 * @typedef {{data: DatasetInfo}} ImportResult
 *
 * @typedef {{
 *   open: {call: OpenCall, result: null},
 *   measure: {call: {engine: EngineChoice}, result: EngineInfo["rates"]},
 *   describe: {call: DescribeCall, result: DescribeResult},
 *   denoise: {call: DenoiseCall, result: DenoiseResult},
 *   sweep: {call: SweepCall, result: SweepResult},
 *   path: {call: PathCall, result: PathResult},
 *   samples: {call: SamplesCall, result: SamplesResult},
 *   wiener: {call: WienerCall, result: WienerResult},
 *   randomFeatures: {call: RandomFeaturesCall, result: RandomFeaturesCurves},
 *   import: {call: ImportCall, result: ImportResult},
 * }} Calls
 * @typedef {keyof Calls} Kind
 *
 * @typedef {object} RunOptions what to run
 * @property {ExperimentName} experiment
 * @property {Preset} preset
 * @property {DataRecipe} data `count` 0: as many as the run needs
 * @property {true} [own] it is on the reader's own images, which may have the name of a set of the page
 * @property {number} seed
 * @property {Record<string, any>} [config] what differs from the preset
 *
 * @typedef {{files: File[], colour: boolean}} OwnImages the reader's own files, and how to read them
 * @typedef {{config: Config, snapshot: Blob | null}} Shard a part of a run that can be done alone, and where it stands
 *
 * @typedef {{options: RunOptions, own?: OwnImages, workers: number}} PlanCall
 * @typedef {{config: Config, shards: Config[], data: DataRecipe}} PlanResult the whole configuration, the same in shards of equal
 *   work, and the images that they need
 * @typedef {object} StartCall
 * @property {"cpu" | "gpu"} engine
 * @property {ExperimentName} experiment
 * @property {DataRecipe} recipe
 * @property {OwnImages} [own]
 * @property {Shard[]} shards
 *
 * @typedef {{
 *   plan: {call: PlanCall, result: PlanResult},
 *   start: {call: StartCall, result: null},
 *   advance: {call: {milliseconds: number}, result: Progress[]},
 *   preview: {call: {}, result: Report[]},
 *   report: {call: {}, result: Report[]},
 *   snapshot: {call: {}, result: Blob[]},
 *   weights: {call: {}, result: Blob[][]},
 * }} RunCalls results have one entry per shard
 * @typedef {RunCalls & {
 *   selfCheck: {call: SelfCheckCall, result: SelfCheckResult},
 * }} TrainingCalls
 *
 * @typedef {{kind: "start", base: string}} Start the page's address, against which data files are found
 * @typedef {{kind: "call", id: number, call: string, payload: any}} Call
 * @typedef {{kind: "cancel", id: number}} Cancel
 * @typedef {Start | Call | Cancel} ToWorker
 *
 * @typedef {{kind: "done", id: number, result: any}} Done
 * @typedef {{kind: "failed", id: number, error: Failure}} Failed
 * @typedef {{kind: "event", event: "engine", engine: EngineInfo} | {kind: "event", event: "busy", text: string, fraction?: number}} Event
 *   `busy` with an empty text: nothing long is under way; `fraction`: how much of it is done
 * @typedef {Done | Failed | Event} FromWorker
 */

/**
 * Bring whatever was thrown into the one form of an error.
 * @param {unknown} thrown
 * @returns {Failure}
 */
export function toFailure(thrown) {
  const { kind, message, hint } = /** @type {{kind?: unknown, message?: unknown, hint?: unknown}} */ (
    typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) }
  );
  return {
    // An error of the browser itself has no kind.
    kind: typeof kind === "string" ? kind : "Unexpected",
    message: typeof message === "string" && message ? message : "Something went wrong",
    hint: typeof hint === "string" ? hint : "",
  };
}

/**
 * Fetch a file of the page. One that does not come is a failure of kind `Network`, which another try may mend.
 * @param {URL} address
 * @param {string} name what the reader knows it by
 */
export async function fetchFile(address, name) {
  const response = await fetch(address).catch(() => undefined);
  if (response?.ok) return response;
  throw {
    kind: "Network",
    message: `${name} could not be fetched${response ? ` (HTTP ${response.status})` : ""}`,
    hint: "Check the connection and try again.",
  };
}

/** What a worker is asked of a run that it does not have. @returns {Failure} */
export const notStarted = () => ({
  kind: "WorkerCrashed",
  message: "The engine stopped unexpectedly",
  hint: "Resume the run: it starts again where it was last saved.",
});

/**
 * The buffers in a message that can change hands instead of being copied.
 * A buffer is listed once, however many views it has: the browser refuses duplicates.
 * @param {unknown} message
 * @returns {ArrayBuffer[]}
 */
export function transferables(message) {
  /** @type {Set<ArrayBuffer>} */
  const found = new Set();
  /** @param {unknown} value */
  const visit = (value) => {
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    } else if (
      value !== null &&
      typeof value === "object" &&
      [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))
    ) {
      Object.values(value).forEach(visit);
    }
  };
  visit(message);
  return [...found];
}
