/**
 * What an experiment found: the form of recorded files and of live runs alike, as `src/experiment/` writes it.
 *
 * @typedef {{mean: number, standardError: number, count: number}} Estimate
 * @typedef {{gl: Estimate, glSquared: Estimate, memorized: Estimate}} Closeness
 * @typedef {{cosine: Estimate, nmse: Estimate, correctedCosine: Estimate, correctedNmse: Estimate}} Linearity
 * @typedef {{heldOut: Estimate[], train: Estimate[]}} Differences one entry a noise level
 *
 * @typedef {{name: "learning"} | {name: "diverged", step: number}} Status of a network: one that diverged has its weights from
 *   before that step
 *
 * @typedef {object} Gallery images as base64, see `decodeImages`
 * @property {string} samples of D_θ
 * @property {string} nearest the training image nearest to each
 * @property {string} gaussian D_G’s samples from the same noise
 * @property {string} empirical D_M’s
 *
 * @typedef {object} Point one network at one moment; lists run over the report’s `sigmas`
 * @property {number} first first training image
 * @property {number} n number of training images
 * @property {number} seed
 * @property {number} step
 * @property {number} epochs
 * @property {Status} status
 * @property {Closeness} closeness
 * @property {Closeness} closenessGaussian
 * @property {Closeness} closenessHeldOut
 * @property {Linearity[]} linearity
 * @property {Linearity[]} linearityGaussian
 * @property {Linearity[]} linearityEmpirical
 * @property {Estimate} cosineGaussian
 * @property {Estimate} cosineEmpirical
 * @property {Estimate} nmseGaussian
 * @property {Differences} differenceGaussian
 * @property {Differences} differenceEmpirical
 * @property {Estimate[]} errorHeldOut
 * @property {Estimate[]} errorTrain
 * @property {Estimate[]} errorGaussian
 * @property {Gallery} gallery
 *
 * @typedef {{denoiser: "trained" | "linear" | "gaussian" | "empirical", sigmas: number[], denoised: string[], samples: string, nearest: string}} Path
 *   `denoised`: one list of images for each of the sampler’s noise levels
 * @typedef {{sigma: number, matrix: number[][], overlap: number}} Alignment
 * @typedef {object} OfLinear what needs D_L; all null in a glance
 * @property {Differences | null} differenceLinear to D_θ
 * @property {Differences | null} differenceLinearGaussian
 * @property {Differences | null} differenceLinearEmpirical
 * @property {Estimate | null} cosineLinear
 * @property {Estimate | null} cosineLinearGaussian
 * @property {Alignment[] | null} alignment
 * @property {{sigma: number, pixels: [number, number][], linear: string, gaussian: string}[] | null} weights some rows of W_σ, and
 *   the pixels that they make
 * @typedef {Point & OfLinear & {differenceGaussianEmpirical: Differences, paths: Path[], axes: string}} Bias
 *
 * @typedef {Point & {architecture: Record<string, unknown>, parameters: number}} Sitting
 * @typedef {object} Agreement two networks that share no training image
 * @property {number} n number of training images of each
 * @property {[Status, Status]} [status] older files do not have it
 * @property {Estimate} cosine
 * @property {Estimate} cosineOtherNoise
 * @property {[Closeness, Closeness]} closeness
 * @property {[Gallery, Gallery]} galleries
 *
 * @typedef {{
 *   transition: Point[],
 *   "gaussian-bias": Bias[],
 *   emergence: {overWidth: Sitting[], overTime: Sitting[]},
 *   "strong-generalization": Agreement[],
 * }} Findings
 * @typedef {keyof Findings} ExperimentName
 * @typedef {"quick" | "main" | "faithful"} Preset
 *
 * @typedef {{set: string, size: number, seed: number, count: number, heldOut: number}} DataRecipe how to make the same images again
 */

/**
 * @template {ExperimentName} [E=any]
 * @typedef {object} Report
 * @property {E} experiment
 * @property {string} version
 * @property {"cpu" | "gpu"} engine
 * @property {string | null} adapter
 * @property {{height: number, width: number, channels: number}} shape
 * @property {DataRecipe} data
 * @property {number} seconds
 * @property {boolean} final false while the run goes on: fewer samples and noise levels
 * @property {number[]} sigmas
 * @property {any} config
 * @property {Findings[E]} findings
 * @property {{command: string, date: string, device: string, commit: string}} [record] how a recorded run was made
 */

/**
 * A report from its JSON, which has no NaN: an estimate that is not a number is null there, and would count as 0. Other
 * fields are null because there is nothing.
 * @param {string} json
 */
export const parseReport = (json) =>
  JSON.parse(json, (_, value) => {
    if (value === null || typeof value !== "object" || !("standardError" in value)) return value;
    return { ...value, mean: value.mean ?? NaN, standardError: value.standardError ?? NaN };
  });
