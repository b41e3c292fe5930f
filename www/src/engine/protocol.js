/**
 * What the page and its workers say to each other. There are two kinds of worker: one that answers what needs no
 * training ({@link Calls}), and those with all of the library, which run experiments and check it
 * ({@link TrainingCalls}).
 *
 * Every call names the whole setting that it is about, so the worker can answer calls in any order and keep what it
 * likes between them. A call has an id; its answer, `done` or `failed`, carries the same id. Besides answers the worker
 * sends `event`s: which engine runs, and what it is busy with.
 *
 *
 * @typedef {object} Setting what both denoisers are fitted to, and where
 * @property {EngineChoice} engine
 * @property {DataName} data
 * @property {number} n how many training images; fewer are used when the data set has fewer
 *
 * @typedef {object} Failure the one form of an error, as in the Rust core
 * @property {string} kind
 * @property {string} message what happened
 * @property {string} hint what the reader can do; may be empty
 *
 * @typedef {object} Pictures images of one size, ready to be drawn
 * @property {number} width
 * @property {number} height
 * @property {Uint8ClampedArray<ArrayBuffer>} rgba one image after the other
 *
 * @typedef {import("../../pkg/hidden_gaussian.js").EngineInfo & {problem: Failure | null}} EngineInfo
 *   `problem`: why the engine that was asked for does not run, or why it had to start again
 *
 * @typedef {{engine: EngineChoice}} OpenCall start this engine; the answer is empty, the `engine` event tells the rest
 *
 * @typedef {{setting: Setting}} DescribeCall
 * @typedef {{data: DataInfo, n: number, gallery: Pictures}} DescribeResult `gallery`: the first training images
 *
 * @typedef {{setting: Setting, split: Split, image: number, sigma: number, seed: number}} DenoiseCall
 * @typedef {object} DenoiseResult
 * @property {number} n the number of training images in use
 * @property {number} image the index in use, within the split
 * @property {number} imageCount how many images the split has
 * @property {Pictures} clean
 * @property {Pictures} noisy
 * @property {Pictures} empirical D_M(x; σ)
 * @property {Pictures} gaussian D_G(x; σ)
 * @property {{empirical: number, gaussian: number}} rmse root mean square distance to the clean image
 * @property {Float32Array} weights largest softmax weights of D_M, sorted
 * @property {Uint32Array} indices the training images that they belong to
 * @property {Pictures} heaviest those training images, as many as the page shows
 * @property {number} effective exp(entropy) of all weights
 * @property {number} elapsedMs time in the engine
 *
 * @typedef {{setting: Setting, split: Split, image: number, sigmas: number[], seed: number}} SweepCall one image at many
 *   noise levels
 * @typedef {{sigmas: number[], empirical: number[], gaussian: number[], between: number[], effective: number[]}} SweepResult
 *   root mean square distances to the clean image and between the two answers, and the effective number of images, at
 *   each level
 *
 * @typedef {{setting: Setting, seed: number, steps: number}} TrajectoryCall
 * @typedef {object} Path
 * @property {Pictures} x x_t, one more than there are steps
 * @property {Pictures} d D(x_t), one a step
 * @property {Pictures} nearest the training image nearest to the end point
 * @property {number} index of that training image
 * @property {number} d1 distance to the nearest training image
 * @property {number} d2 distance to the second nearest
 * @property {number[]} toEnd root mean square distance from each D(x_t) to where the path ends
 * @typedef {{sigmas: Float32Array, empirical: Path, gaussian: Path, between: number[], elapsedMs: number}} TrajectoryResult
 *   `between`: root mean square distance between the two answers at each step
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
 * @property {number} memorized share of samples with d1/d2 < 1/3
 * @typedef {{empirical: SampleSet, gaussian: SampleSet, heldOutGl: number, n: number, elapsedMs: number}} SamplesResult
 *
 * @typedef {{n: number, sigma: number, rate: number, steps: number}} WienerCall gradient descent on a linear denoiser of
 *   faces; `rate` in units of the largest step size that converges
 * @typedef {Omit<WienerDescent, "rows" | "goal" | "pixels">
 *   & {rows: Pictures[], goal: Pictures}} WienerResult `rows`: some rows of W_t for each of the steps; zero is mid-grey
 *
 * @typedef {{engine: "cpu" | "gpu", index: number}} SelfCheckCall one check of an engine, so that each is shown when it is done
 * @typedef {{check: Check, count: number}} SelfCheckResult `count`: how many checks there are of an engine
 *
 * @typedef {{files: File[], size: number, colour: boolean}} ImportCall
 * @typedef {{data: DataInfo}} ImportResult
 *
 * @typedef {{
 *   open: {call: OpenCall, result: null},
 *   measure: {call: {}, result: EngineInfo["rates"]},
 *   describe: {call: DescribeCall, result: DescribeResult},
 *   denoise: {call: DenoiseCall, result: DenoiseResult},
 *   sweep: {call: SweepCall, result: SweepResult},
 *   trajectory: {call: TrajectoryCall, result: TrajectoryResult},
 *   samples: {call: SamplesCall, result: SamplesResult},
 *   wiener: {call: WienerCall, result: WienerResult},
 *   import: {call: ImportCall, result: ImportResult},
 * }} Calls
 * @typedef {keyof Calls} Kind
 *
 *
 * @typedef {object} RunOptions what to run
 * @property {ExperimentName} experiment
 * @property {Preset} preset
 * @property {DataRecipe} data
 * @property {true} [own] it is on the reader's own images, which may have the name of a set of the page
 * @property {number} seed
 * @property {object} [config] what differs from the preset
 *
 * @typedef {{files: File[], colour: boolean}} OwnImages the reader's own files, and how to read them
 * @typedef {{config: string, snapshot: Blob | null}} Share a part of a run that can be done alone, and where it stands
 *
 * @typedef {{options: RunOptions, own?: OwnImages, workers: number}} PlanCall
 * @typedef {{config: string, shares: string[]}} PlanResult the whole configuration, and the same in shares of equal work
 * @typedef {object} StartCall
 * @property {"cpu" | "gpu"} engine
 * @property {RunOptions["experiment"]} experiment
 * @property {DataRecipe} recipe
 * @property {OwnImages} [own]
 * @property {Share[]} shares
 *
 * @typedef {{
 *   plan: {call: PlanCall, result: PlanResult},
 *   start: {call: StartCall, result: null},
 *   advance: {call: {milliseconds: number}, result: ShareProgress[]},
 *   glance: {call: {}, result: Report[]},
 *   report: {call: {}, result: Report[]},
 *   snapshot: {call: {}, result: Blob[]},
 *   weights: {call: {}, result: Blob[][]},
 * }} RunCalls answers have one entry for each share
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
 * @typedef {{kind: "event", event: "engine", engine: EngineInfo} | {kind: "event", event: "busy", text: string}} Event
 *   `busy` with an empty text: nothing long is under way
 * @typedef {Done | Failed | Event} FromWorker
 */

/**
 * @import { Check, DatasetInfo as DataInfo, Progress as ShareProgress, WienerDescent } from "../../pkg/hidden_gaussian.js"
 * @import { DataRecipe, ExperimentName, Preset, Report } from "../reports/report.js"
 * @import { DataName, EngineChoice, Split } from "../state/parameters.js"
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

/** What a worker is asked of a run that it does not have. @returns {Failure} */
export const notStarted = () => ({
  kind: "WorkerCrashed",
  message: "The engine stopped unexpectedly",
  hint: "Go on with the run: it starts again where it was last saved.",
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
