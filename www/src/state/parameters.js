/**
 * The one table of parameters. Defaults, ranges, help, controls, validation and the URL all come from here.
 * A parameter's key is also its name in the URL; a dot separates the figure from the knob. What the reader counts,
 * counts from one.
 *
 * @typedef {"faces" | "patches" | "fashion" | "mnist" | "own"} DataName
 * @typedef {"auto" | "gpu" | "cpu"} EngineChoice
 * @typedef {"heldOut" | "train"} Split
 * @typedef {"quick-faces" | "main-faces" | "faithful-faces" | "main-patches" | "main-fashion" | "main-mnist"} RecordedTransition
 *
 * @typedef {{
 *   data: DataName,
 *   n: number,
 *   engine: EngineChoice,
 *   "own.size": number,
 *   "own.colour": "grey" | "colour",
 *   "denoise.split": Split,
 *   "denoise.image": number,
 *   "denoise.sigma": number,
 *   "denoise.seed": number,
 *   "trajectory.seed": number,
 *   "trajectory.step": number,
 *   "samples.seed": number,
 *   "samples.pick": number,
 *   "hero.n": number,
 *   "transition.run": RecordedTransition,
 *   "transition.n": number,
 *   "transition.sigma": number,
 *   "transition.seed": number,
 *   "bias.run": "main" | "faithful",
 *   "bias.split": Split,
 *   "bias.model": "few" | "many",
 *   "bias.sample": number,
 *   "bias.step": number,
 *   "bias.sigma": number,
 *   "bias.descentN": number,
 *   "bias.descentSigma": number,
 *   "bias.descentRate": number,
 *   "bias.descentTime": number,
 *   "bias.seed": number,
 *   "emergence.n": number,
 *   "emergence.width": number,
 *   "emergence.step": number,
 *   "emergence.agreementN": number,
 *   "emergence.seed": number,
 *   "emergence.agreementSeed": number,
 *   "lab.measure": "gl" | "memorized" | "linearity" | "cosine",
 *   "lab.n": number,
 *   "lab.preset": Preset,
 *   "lab.data": DataName,
 *   "lab.network": "preset" | "mlp" | "unet",
 *   "lab.sizes": string,
 *   "lab.size": string,
 *   "lab.width": string,
 *   "lab.depth": string,
 *   "lab.steps": string,
 *   "lab.batch": string,
 *   "lab.rate": string,
 *   "lab.sampler": string,
 *   "lab.samples": string,
 *   "lab.seeds": string,
 *   "lab.experiment": ExperimentName,
 *   "lab.longSteps": string,
 *   "lab.checkpoints": string,
 *   "lab.widths": string,
 *   "lab.widthSizes": string,
 *   "lab.noiseMean": string,
 *   "lab.noiseDeviation": string,
 *   "lab.warmUp": string,
 *   "lab.floor": string,
 *   "lab.clip": string,
 *   "lab.ema": string,
 *   "lab.blowUp": string,
 *   "lab.sigmaData": string,
 *   "lab.norm": "none" | "group",
 *   "lab.method": "heun" | "euler",
 *   "lab.sigmaMin": string,
 *   "lab.sigmaMax": string,
 *   "lab.sigmas": string,
 *   "lab.images": string,
 *   "lab.shown": string,
 *   "lab.heldOut": string,
 *   "lab.dataSeed": string,
 *   "lab.axes": string,
 *   "lab.paths": string,
 *   "lab.fitBatches": string,
 *   "lab.fitImages": "heldOut" | "training",
 *   "lab.fitMethod": "normal" | "descent",
 *   "lab.seed": number,
 *   figure: string,
 *   run: string,
 *   "run.config": string,
 *   "run.expect": string,
 * }} Values
 *
 * @typedef {keyof Values} Key
 * @typedef {{[K in Key]: Values[K] extends number ? K : never}[Key]} NumberKey
 *
 * @typedef {object} Common
 * @property {string} label what the control is called
 * @property {string} help one sentence on what it does
 * @property {string} [unit]
 *
 * @typedef {object} Place where a run finds it
 * @property {string} [config] in its configuration, with dots between the names
 * @property {ExperimentName[]} [of] the experiments that have it, if not all do
 * @property {"rising" | "falling"} [list] it is several numbers, in this order
 *
 * @typedef {Common & Place & {type: "choice", default: string | number, options: {value: string | number, label: string}[]}} Choice
 *   one of a few named values
 * @typedef {Common & {type: "stops", default: number, stops: number[]}} Stops
 *   one of a few numbers in order, shown as a slider
 * @typedef {Common & {type: "range", default: number, min: number, max: number, scale: "linear" | "log"}} Range
 *   any number of an interval; whole numbers when the scale is linear
 * @typedef {Common & Place & {type: "text", default: string, pattern: RegExp, form: string}} Text
 *   words of this form; `form` says it as a sentence
 * @typedef {Choice | Stops | Range | Text} Parameter
 */
import { EXPECT, fromLink, RUN } from "./permalink.js";

/** @import { ExperimentName, Preset } from "../reports/report.js" */

/** Sizes of training sets in the runs of Figure 1. A run need not have all; the nearest one is shown. */
const SIZES = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/** The largest seed that the page chooses: 32 bits keep a link short, and the generator would take more. */
const MAX_SEED = 0xffffffff;

/** @type {(label: string, help: string, start: number) => Range} */
const seed = (label, help, start) => ({
  type: "range",
  label,
  help,
  default: start,
  min: 0,
  max: MAX_SEED,
  scale: "linear",
});

/** @type {(label: string, help: string, start: number, min: number, max: number) => Range} */
const range = (label, help, start, min, max) => ({ type: "range", label, help, default: start, min, max, scale: "linear" });

/** @typedef {{pattern: RegExp, form: string}} Form how a text must look, for the machine and for the reader */

/** Something to type; left empty, it is as the preset has it. @type {(label: string, help: string, form: Form, place?: Place) => Text} */
const field = (label, help, form, place = {}) => ({ type: "text", label, help, default: "", ...form, ...place });

/** A whole number of at most so many digits. @type {(digits: number) => Form} */
const whole = (digits) => ({
  pattern: new RegExp(`^[1-9]\\d{0,${digits - 1}}$`),
  form: `A whole number from 1 to ${"9".repeat(digits)}.`,
});
/** @type {Form} */
const ONE_TO_EIGHT = { pattern: /^[1-8]$/, form: "A whole number from 1 to 8." };
/** @type {Form} */
const WHOLE_NUMBERS = { pattern: /^[1-9]\d{0,4}( [1-9]\d{0,4}){0,15}$/, form: "Up to 16 whole numbers from 1 to 99999, such as 16 64 256." };
/** @type {Form} */
const MANY_STEPS = { pattern: /^[1-9]\d{0,5}( [1-9]\d{0,5}){0,15}$/, form: "Up to 16 whole numbers from 1 to 999999, such as 100 400 1600." };
/** @type {Form} */
const POSITIVE = { pattern: /^(?=.*[1-9])\d{1,4}(\.\d{1,6})?$/, form: "A number above 0, such as 0.5." };
/** @type {Form} */
const SHARE = { pattern: /^(0(\.\d{1,6})?|1(\.0+)?)$/, form: "A number from 0 to 1, such as 0.02." };

/** @satisfies {Record<Key, Parameter>} */
export const parameters = {
  data: /** @type {Choice} */ ({
    type: "choice",
    label: "Data",
    help: "Where the training images come from.",
    default: "faces",
    options: [
      { value: "faces", label: "Faces" },
      { value: "patches", label: "Patches" },
      { value: "fashion", label: "Fashion" },
      { value: "mnist", label: "MNIST" },
      { value: "own", label: "Your own" },
    ],
  }),
  n: /** @type {Stops} */ ({
    type: "stops",
    label: "Training images N",
    help: "How many images both denoisers know.",
    default: 1024,
    stops: [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
  }),
  engine: /** @type {Choice} */ ({
    type: "choice",
    label: "Engine",
    help: "Auto measures both engines and takes the faster one.",
    default: "auto",
    options: [
      { value: "auto", label: "Auto" },
      { value: "gpu", label: "GPU" },
      { value: "cpu", label: "CPU" },
    ],
  }),
  "own.size": /** @type {Choice} */ ({
    type: "choice",
    label: "Size",
    help: "Your images are resized to this many pixels a side.",
    unit: "px",
    default: 16,
    options: [
      { value: 12, label: "12" },
      { value: 16, label: "16" },
      { value: 28, label: "28" },
    ],
  }),
  "own.colour": /** @type {Choice} */ ({
    type: "choice",
    label: "Colour",
    help: "Colour triples the number of dimensions.",
    default: "grey",
    options: [
      { value: "grey", label: "Grey" },
      { value: "colour", label: "Colour" },
    ],
  }),
  "denoise.split": /** @type {Choice} */ ({
    type: "choice",
    label: "Image from",
    help: "Held-out images are never seen by either denoiser.",
    default: "heldOut",
    options: [
      { value: "heldOut", label: "Held-out set" },
      { value: "train", label: "Training set" },
    ],
  }),
  "denoise.image": /** @type {Range} */ ({
    type: "range",
    label: "Image",
    help: "Which image of the set is made noisy.",
    default: 22,
    min: 1,
    max: 4096,
    scale: "linear",
  }),
  "denoise.sigma": /** @type {Range} */ ({
    type: "range",
    label: "Noise level σ",
    help: "Standard deviation of the added noise; the images have standard deviation 0.5.",
    default: 0.5,
    min: 0.002,
    max: 80,
    scale: "log",
  }),
  "denoise.seed": seed("Noise", "Seed of the noise added to the image.", 1),
  "trajectory.seed": seed("Noise", "Seed of the noise that both trajectories start from.", 1),
  "trajectory.step": /** @type {Range} */ ({
    type: "range",
    label: "Step",
    help: "The step that is shown large.",
    default: 6,
    min: 1,
    max: 10,
    scale: "linear",
  }),
  "samples.seed": seed("Noise", "Seed of the 64 noise images that both denoisers start from.", 1),
  "samples.pick": /** @type {Range} */ ({
    type: "range",
    label: "Sample",
    help: "The sample that is shown large.",
    default: 1,
    min: 1,
    max: 64,
    scale: "linear",
  }),
  "hero.n": /** @type {Stops} */ ({
    type: "stops",
    label: "Training images N",
    help: "How many images the network was trained on.",
    default: 32,
    stops: SIZES,
  }),
  "transition.run": /** @type {Choice} */ ({
    type: "choice",
    label: "Run",
    help: "Which run the figure shows, and which one is trained here.",
    default: "quick-faces",
    options: [
      { value: "quick-faces", label: "Faces, quick" },
      { value: "main-faces", label: "Faces, MLP" },
      { value: "faithful-faces", label: "Faces, U-Net" },
      { value: "main-patches", label: "Patches" },
      { value: "main-fashion", label: "Fashion" },
      { value: "main-mnist", label: "MNIST" },
    ],
  }),
  "transition.n": /** @type {Stops} */ ({
    type: "stops",
    label: "Training images N",
    help: "The networks that are shown beside the curves.",
    default: 16,
    stops: SIZES,
  }),
  "transition.sigma": /** @type {Range} */ ({
    type: "range",
    label: "Noise level σ",
    help: "The noise level at which the linearity is measured.",
    default: 1,
    min: 0.002,
    max: 80,
    scale: "log",
  }),
  "transition.seed": seed("Seed", "Seed of the networks that are trained here.", 1),
  "bias.run": /** @type {Choice} */ ({
    type: "choice",
    label: "Network",
    help: "Which recorded run the figures of this section show.",
    default: "main",
    options: [
      { value: "main", label: "MLP, 12 × 12" },
      { value: "faithful", label: "U-Net, 16 × 16" },
    ],
  }),
  "bias.split": /** @type {Choice} */ ({
    type: "choice",
    label: "Noise added to",
    help: "A network that memorizes differs most between the images that it knows and those that it does not.",
    default: "heldOut",
    options: [
      { value: "heldOut", label: "Held-out images" },
      { value: "train", label: "Training images" },
    ],
  }),
  "bias.model": /** @type {Choice} */ ({
    type: "choice",
    label: "Trained on",
    help: "The network that memorizes, or the one that generalizes.",
    default: "many",
    options: [
      { value: "few", label: "Few images" },
      { value: "many", label: "Many images" },
    ],
  }),
  "bias.sample": range("Sample", "Which starting noise.", 1, 1, 64),
  "bias.step": range("Step", "The step that is shown large.", 9, 1, 64),
  "bias.sigma": /** @type {Range} */ ({
    type: "range",
    label: "Noise level σ",
    help: "The noise level of the linear denoiser that is shown.",
    default: 0.55,
    min: 0.002,
    max: 80,
    scale: "log",
  }),
  "bias.descentN": /** @type {Stops} */ ({
    type: "stops",
    label: "Training images N",
    help: "How many images the linear denoiser is trained on.",
    default: 1024,
    stops: [16, 64, 256, 1024, 4096],
  }),
  "bias.descentSigma": /** @type {Choice} */ ({
    type: "choice",
    label: "Noise level σ",
    help: "The noise level that the linear denoiser is trained at.",
    default: 0.5,
    options: [
      { value: 0.1, label: "0.1" },
      { value: 0.5, label: "0.5" },
      { value: 2, label: "2" },
    ],
  }),
  "bias.descentRate": /** @type {Choice} */ ({
    type: "choice",
    label: "Step size, of the largest that converges",
    help: "Beyond the largest step size the descent overshoots more each time.",
    default: 0.1,
    options: [
      { value: 0.02, label: "1/50" },
      { value: 0.1, label: "1/10" },
      { value: 1.02, label: "1.02" },
    ],
  }),
  "bias.descentTime": range("Steps of gradient descent", "The moment that is shown.", 64, 1, 1_000_000),
  "bias.seed": seed("Seed", "Seed of the networks that are trained here.", 1),
  "emergence.n": range("Training images N", "How many images the networks have seen.", 32, 1, 1_000_000),
  "emergence.width": range("Width", "Hidden units or channels of the network.", 384, 1, 1_000_000),
  "emergence.step": range("Training steps", "How long the network has trained.", 400, 1, 10_000_000),
  "emergence.agreementN": range("Training images N", "How many images each of the two networks has seen.", 4096, 1, 1_000_000),
  "emergence.seed": seed("Seed", "Seed of the networks that are trained here.", 1),
  "emergence.agreementSeed": seed("Seed", "Seed of the two networks that are trained here.", 1),
  "lab.measure": /** @type {Choice} */ ({
    type: "choice",
    label: "Compare by",
    help: "What the chart shows of each run.",
    default: "gl",
    options: [
      { value: "gl", label: "GL score" },
      { value: "memorized", label: "Copies" },
      { value: "linearity", label: "Linearity" },
      { value: "cosine", label: "Cosine" },
    ],
  }),
  "lab.n": /** @type {Stops} */ ({
    type: "stops",
    label: "Samples at N",
    help: "The training-set size whose samples are shown.",
    default: 32,
    stops: SIZES,
  }),
  "lab.preset": /** @type {Choice} */ ({
    type: "choice",
    label: "Start from",
    help: "Where fields that are left empty take their value.",
    default: "quick",
    options: [
      { value: "quick", label: "Quick" },
      { value: "main", label: "Main" },
      { value: "faithful", label: "Faithful" },
    ],
  }),
  "lab.data": /** @type {Choice} */ ({
    type: "choice",
    label: "Data",
    help: "What the networks are trained on.",
    default: "faces",
    options: [
      { value: "faces", label: "Faces" },
      { value: "patches", label: "Patches" },
      { value: "fashion", label: "Fashion" },
      { value: "mnist", label: "MNIST" },
      { value: "own", label: "Your own" },
    ],
  }),
  "lab.network": /** @type {Choice} */ ({
    type: "choice",
    label: "Network",
    help: "An MLP looks at all pixels at once, a U-Net at neighbourhoods.",
    default: "preset",
    options: [
      { value: "preset", label: "As the preset" },
      { value: "mlp", label: "MLP" },
      { value: "unet", label: "U-Net" },
    ],
  }),
  "lab.experiment": /** @type {Choice} */ ({
    type: "choice",
    label: "Experiment",
    help: "What is trained and what is looked at: one of the figures above.",
    default: "transition",
    options: [
      { value: "transition", label: "Transition" },
      { value: "gaussian-bias", label: "Gaussian bias" },
      { value: "emergence", label: "Emergence" },
      { value: "strong-generalization", label: "Two halves" },
    ],
  }),
  "lab.sizes": field("Training images N", "Sizes of the training sets, one network each.", WHOLE_NUMBERS, {
    config: "sizes",
    list: "rising",
  }),
  "lab.size": field("Pixels a side", "Side of an image; a U-Net needs a multiple of 4.", {
    pattern: /^(8|12|14|16|20|24|28|32)$/,
    form: "One of 8, 12, 14, 16, 20, 24, 28 and 32.",
  }),
  "lab.width": field("Width", "Hidden units of an MLP, or channels of a U-Net.", whole(4)),
  "lab.depth": field("Depth", "Blocks of an MLP, or resolutions of a U-Net.", ONE_TO_EIGHT),
  "lab.steps": field("Steps", "How long each network is trained.", whole(6), { config: "train.steps" }),
  "lab.batch": field("Batch", "Images in a training step.", whole(4), { config: "train.batch" }),
  "lab.rate": field(
    "Learning rate",
    "The highest learning rate of the schedule.",
    { pattern: /^(0?\.\d{1,8}|[1-9](\.\d)?e-[1-9])$/, form: "A number below 1, such as 0.004 or 4e-3." },
    { config: "train.rate" },
  ),
  "lab.sampler": field(
    "Sampler steps",
    "Steps from noise to image.",
    { pattern: /^([2-9]|[1-9]\d)$/, form: "A whole number from 2 to 99." },
    { config: "look.samplerSteps" },
  ),
  "lab.samples": field("Samples", "How many samples are drawn to measure.", whole(4), { config: "look.samples" }),
  "lab.seeds": field("Seeds", "How many networks are trained at each size, from different seeds.", ONE_TO_EIGHT, {
    of: ["transition"],
  }),
  "lab.longSteps": field("Steps over time", "How long the networks that are watched over time are trained.", whole(6), {
    config: "trainLong.steps",
    of: ["emergence"],
  }),
  "lab.checkpoints": field("Looks at steps", "When the networks are looked at.", MANY_STEPS, {
    config: "checkpoints",
    list: "rising",
    of: ["emergence"],
  }),
  "lab.widths": field("Widths", "Widths that are compared, one network each.", WHOLE_NUMBERS, {
    config: "widths",
    list: "rising",
    of: ["emergence"],
  }),
  "lab.widthSizes": field("N of the widths", "Sizes of the training sets on which widths are compared.", WHOLE_NUMBERS, {
    config: "widthSizes",
    list: "rising",
    of: ["emergence"],
  }),
  // What is seldom changed.
  "lab.noiseMean": field(
    "Mean of ln σ",
    "Where the noise levels of training lie.",
    { pattern: /^-?\d(\.\d{1,4})?$/, form: "A number between −10 and 10." },
    { config: "train.logSigmaMean" },
  ),
  "lab.noiseDeviation": field("Spread of ln σ", "How far the noise levels of training spread.", POSITIVE, {
    config: "train.logSigmaDeviation",
  }),
  "lab.warmUp": field(
    "Warm-up",
    "Steps in which the learning rate rises.",
    { pattern: /^\d{1,6}$/, form: "A whole number from 0 to 999999." },
    { config: "train.warmUp" },
  ),
  "lab.floor": field("Rate at the end", "Share of the learning rate that is left at the end; 1 keeps it constant.", SHARE, {
    config: "train.floor",
  }),
  "lab.clip": field("Gradient clip", "Largest norm of a gradient; empty is no limit.", POSITIVE, { config: "train.clip" }),
  "lab.ema": field("Averaging limit", "Most that the moving average of the weights keeps of itself in a step.", SHARE, {
    config: "train.emaLimit",
  }),
  "lab.blowUp": field("Diverged above", "A network whose loss exceeds this is given up.", POSITIVE, { config: "train.blowUp" }),
  "lab.sigmaData": field("σ of the data", "The standard deviation that the preconditioning counts on.", POSITIVE, {
    config: "train.sigmaData",
  }),
  "lab.norm": /** @type {Choice} */ ({
    type: "choice",
    label: "Normalization of a U-Net",
    help: "Whether groups of channels are normalized in a U-Net.",
    default: "none",
    options: [
      { value: "none", label: "None" },
      { value: "group", label: "Groups" },
    ],
  }),
  "lab.method": /** @type {Choice} */ ({
    type: "choice",
    label: "Sampler",
    help: "Heun asks the network twice a step, Euler once.",
    default: "heun",
    config: "look.method",
    options: [
      { value: "heun", label: "Heun" },
      { value: "euler", label: "Euler" },
    ],
  }),
  "lab.sigmaMin": field("Lowest σ", "The noise level at which the sampler ends.", POSITIVE, { config: "look.sigmaMin" }),
  "lab.sigmaMax": field("Highest σ", "The noise level at which the sampler begins.", POSITIVE, { config: "look.sigmaMax" }),
  "lab.sigmas": field(
    "Compared at σ",
    "Noise levels at which denoisers are compared.",
    { pattern: /^\d{1,3}(\.\d{1,4})?( \d{1,3}(\.\d{1,4})?){0,15}$/, form: "Up to 16 numbers above 0." },
    { config: "look.sigmas", list: "falling" },
  ),
  "lab.images": field("Images compared", "Images that are denoised at each noise level.", whole(4), { config: "look.images" }),
  "lab.shown": field("Samples shown", "Samples that the report keeps as pictures.", whole(2), { config: "look.shown" }),
  "lab.heldOut": field("Held-out images", "Images that no network sees.", whole(4)),
  "lab.dataSeed": field("Data seed", "Seed of the images, and of which of them are held out.", {
    pattern: /^\d{1,9}$/,
    form: "A whole number from 0 to 999999999.",
  }),
  "lab.axes": field("Principal axes", "How many axes are compared with those of the linear fit.", whole(2), {
    config: "axes",
    of: ["gaussian-bias"],
  }),
  "lab.paths": field("Paths", "How many samples are followed step by step.", whole(2), {
    config: "paths",
    of: ["gaussian-bias"],
  }),
  "lab.fitBatches": field("Batches of the fit", "Batches of 256 noisy images that the linear denoiser is fitted to.", whole(3), {
    config: "look.distillation.batches",
    of: ["gaussian-bias"],
  }),
  "lab.fitImages": /** @type {Choice} */ ({
    type: "choice",
    label: "Linear fit on",
    help: "The images on which the linear denoiser imitates the network; on its own training images it hides what the network learned by heart.",
    default: "heldOut",
    config: "look.distillation.images",
    of: ["gaussian-bias"],
    options: [
      { value: "heldOut", label: "Held-out" },
      { value: "training", label: "Training" },
    ],
  }),
  "lab.fitMethod": /** @type {Choice} */ ({
    type: "choice",
    label: "Linear fit by",
    help: "The normal equations solve it at once; gradient descent, as in the paper, comes to the same.",
    default: "normal",
    config: "look.distillation.method",
    of: ["gaussian-bias"],
    options: [
      { value: "normal", label: "Solving" },
      { value: "descent", label: "Descent" },
    ],
  }),
  "lab.seed": seed("Seed", "All random numbers of the run follow from it.", 1),
  // What links carry besides settings.
  figure: /** @type {Text} */ ({
    type: "text",
    label: "Figure",
    help: "Shows this figure alone, for other pages to embed.",
    default: "",
    pattern: /^[a-z-]+$/,
    form: "The name of a figure.",
  }),
  run: /** @type {Text} */ ({
    type: "text",
    label: "Run",
    help: "A run to repeat: experiment, preset, seed and data.",
    default: "",
    pattern: RUN,
    form: "As a link of this page has it.",
  }),
  "run.config": /** @type {Text} */ ({
    type: "text",
    label: "Configuration of the run",
    help: "What differs from the preset, as JSON.",
    default: "",
    pattern: /^\{.{0,4000}\}$/,
    form: "As a link of this page has it.",
  }),
  "run.expect": /** @type {Text} */ ({
    type: "text",
    label: "Numbers of the run",
    help: "What came out where the link was made.",
    default: "",
    pattern: EXPECT,
    form: "As a link of this page has it.",
  }),
};

const keys = /** @type {Key[]} */ (Object.keys(parameters));

/** Every parameter at its default. @returns {Values} */
export function defaults() {
  return /** @type {Values} */ (Object.fromEntries(keys.map((key) => [key, parameters[key].default])));
}

/**
 * Read one value from text.
 * @param {Key} key
 * @param {string} text
 * @returns {string | number | undefined} undefined when the text names no allowed value
 */
export function parse(key, text) {
  const parameter = parameters[key];
  if (parameter.type === "choice") return parameter.options.find(({ value }) => String(value) === text)?.value;
  if (parameter.type === "text") return text === "" || parameter.pattern.test(text) ? text : undefined;
  const value = text.trim() === "" ? NaN : Number(text);
  if (parameter.type === "stops") return parameter.stops.find((stop) => stop === value);
  const whole = parameter.scale === "log" || Number.isInteger(value);
  return value >= parameter.min && value <= parameter.max && whole ? value : undefined;
}

/**
 * Read the state from a URL's query. What is missing is at its default; what makes no sense too, with a notice.
 * @param {string} search
 * @param {boolean} [own] whether the reader's own images are there
 * @returns {{values: Values, problems: string[]}}
 */
export function fromSearch(search, own = false) {
  const values = defaults();
  const problems = [];
  for (const [name, text] of new URLSearchParams(search)) {
    const key = keys.find((known) => known === name);
    const value = key && parse(key, text);
    if (!key) problems.push(`This page has no setting called “${name}”.`);
    else if (value === undefined)
      problems.push(
        `“${shortened(text)}” is no value for ${parameters[key].label}; ` +
          (parameters[key].default === "" ? "it is left out." : `using ${parameters[key].default}.`),
      );
    else if (value === "own" && !own)
      problems.push("Own images are not kept when the page is closed, and a link has none. Choose the files again; until then, Faces.");
    else Object.assign(values, { [key]: value });
  }
  if (values.run && !fromLink(values))
    problems.push("The configuration of the run in the link is not JSON, so there is no run to repeat.");
  return { values, problems };
}

/** @param {string} text */
const shortened = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

/**
 * Write the state as a URL's query: only what differs from the default.
 * @param {Values} values
 * @returns {string} empty, or starting with "?"
 */
export function toSearch(values) {
  const query = new URLSearchParams();
  const start = defaults();
  for (const key of keys) {
    if (values[key] !== start[key]) query.set(key, String(values[key]));
  }
  return query.size ? `?${query}` : "";
}

/**
 * Position of a value on its slider, from 0 to 1.
 * @param {Range} range
 * @param {number} value
 */
export function toFraction({ min, max, scale }, value) {
  return scale === "log" ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
}

/**
 * The value at a slider position from 0 to 1: three digits on a log scale, whole on a linear one.
 * @param {Range} range
 * @param {number} fraction
 */
export function fromFraction({ min, max, scale }, fraction) {
  if (scale === "linear") return Math.round(min + fraction * (max - min));
  return Math.min(max, Math.max(min, Number((min * (max / min) ** fraction).toPrecision(3))));
}
