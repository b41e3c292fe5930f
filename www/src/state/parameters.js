/**
 * The one table of parameters. Defaults, ranges, help, controls, validation and the URL all come from here.
 * A parameter's key is also its name in the URL; a dot separates the figure from the setting. What the reader counts,
 * counts from one.
 */
import DENOISER_TABLE from "../tables/denoisers.json" with { type: "json" };
import EXPERIMENT_TABLE from "../tables/experiments.json" with { type: "json" };
import { SET_TITLES } from "./data-sets.js";
import { choice, field, logRange, range, seed, stops, whole, wholes } from "./parameter-kinds.js";
import { EXPECT, RUN, RUN_FILE } from "./permalink.js";

/**
 * @import { ExperimentName } from "../../pkg/hidden_gaussian.js"
 * @import { Preset } from "../reports/report.js"
 * @import { PageSet } from "./data-sets.js"
 * @import { Form, Parameter, ValueOf } from "./parameter-kinds.js"
 */

/**
 * @typedef {{[K in keyof typeof parameters]: ValueOf<(typeof parameters)[K]>}} Values
 * @typedef {keyof Values} Key
 * @typedef {{[K in Key]: Values[K] extends number ? K : never}[Key]} NumberKey
 * @typedef {Values["data"]} DataName
 * @typedef {Values["engine"]} EngineChoice
 * @typedef {Values["denoise.split"]} Split
 */

/** The theories that came after the paper, as the lab offers them. @type {[string, string][]} */
const THEORIES = DENOISER_TABLE.filter(({ equation }) => equation === null).map(({ id, symbol }) => [
  id,
  `+ ${symbol}`,
]);

/** Sizes of training sets in the runs of Figure 1. A run need not have all; the nearest one is shown. */
const SIZES = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 50000];

/** @type {readonly (readonly [PageSet | "own", string])[]} */
const DATA = [...SET_TITLES, ["own", "Your own"]];

/** @type {[ExperimentName, string][]} */
const EXPERIMENTS = EXPERIMENT_TABLE.map(({ name, title }) => [/** @type {ExperimentName} */ (name), title]);

/** @type {[Preset, string][]} */
const PRESETS = [
  ["quick", "Quick"],
  ["main", "Main"],
  ["faithful", "Faithful"],
];

/** @type {Form} */
const ONE_TO_EIGHT = { pattern: /^[1-8]$/, form: "A whole number from 1 to 8." };
const WHOLE_NUMBERS = wholes(5, "16 64 256");
/** @type {Form} */
const POSITIVE = { pattern: /^(?=.*[1-9])\d{1,4}(\.\d{1,6})?$/, form: "A number above 0, such as 0.5." };
/** @type {Form} */
const FRACTION = { pattern: /^(0(\.\d{1,6})?|1(\.0+)?)$/, form: "A number from 0 to 1, such as 0.02." };
const OF_BIAS = { of: /** @type {ExperimentName[]} */ (["gaussian-bias"]) };
const OF_EMERGENCE = { of: /** @type {ExperimentName[]} */ (["emergence"]) };
const RISING = { list: /** @type {const} */ ("rising") };

/** @satisfies {Record<string, Parameter>} */
export const parameters = {
  data: choice("Data", "Where the training images come from.", DATA),
  n: stops(
    "Training images N",
    "How many images the denoisers are fitted to.",
    1024,
    [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
  ),
  engine: choice("Engine", "Auto measures both engines and takes the faster one.", [
    ["auto", "Auto"],
    ["gpu", "GPU"],
    ["cpu", "CPU"],
  ]),
  "own.size": choice(
    "Size",
    "Your images are resized to this many pixels per side.",
    [
      [12, "12"],
      [16, "16"],
      [28, "28"],
      [32, "32"],
    ],
    { unit: "px", default: 16 },
  ),
  "own.colour": choice("Colour", "Colour triples the number of dimensions.", [
    ["grey", "Grey"],
    ["colour", "Colour"],
  ]),

  "denoise.split": choice("Image from", "The denoisers never see held-out images.", [
    ["heldOut", "Held-out set"],
    ["train", "Training set"],
  ]),
  "denoise.image": range("Image", "Which image of the set is made noisy.", 22, 1, 4096),
  "denoise.sigma": logRange(
    "Noise level σ",
    "Standard deviation of the added noise; the images have standard deviation 0.5.",
    0.5,
    0.01,
    40,
  ),
  "denoise.seed": seed("Noise", "Seed of the noise added to the image."),
  "samples.seed": seed("Noise", "Seed of the 64 noise images that all denoisers start from."),
  "samples.pick": range("Sample", "The sample whose path is shown.", 1, 1, 64),

  "hero.data": choice("Images", "What the networks of the first figure were trained on.", [
    ["cifar10", "CIFAR-10"],
    ["faces", "Faces"],
  ]),
  "hero.n": stops("Training images N", "How many images the network was trained on.", 64, SIZES),
  "toy.sigma": logRange("Noise level σ", "Standard deviation of the noise on both coordinates.", 0.35, 0.02, 2.5),
  "toy.seed": seed("Noise", "Seed of the noise that the paths start from."),
  "toy.points": field("Training points", "Coordinates of the training points.", {
    pattern: /^-?\d(\.\d{1,2})?\/-?\d(\.\d{1,2})?( -?\d(\.\d{1,2})?\/-?\d(\.\d{1,2})?){0,59}$/,
    form: "As in a link from this page, or a file such as runs/report.json.",
  }),
  "transition.run": choice("Run shown in Section II", "Which run the figures of Section II show.", [
    ["cifar-cifar10", "CIFAR-10, U-Net"],
    ["faithful-faces", "Faces, U-Net"],
    ["main-faces", "Faces, MLP"],
    ["quick-faces", "Faces, small MLP"],
    ["main-mnist", "MNIST"],
    ["main-fashion", "Fashion"],
    ["main-patches", "Patches"],
  ]),
  "transition.n": stops("Training images N", "The networks that are shown beside the curves.", 64, SIZES),
  "transition.sigma": logRange("Noise level σ", "The noise level at which the linearity is measured.", 1, 0.002, 80),
  "transition.seed": seed("Seed", "Seed of the networks that are trained here."),

  "bias.run": choice("Run shown in Section III", "Which run the figures of Section III show.", [
    ["main-faces", "Faces, MLP"],
    ["faithful-faces", "Faces, U-Net"],
    ["cifar-cifar10", "CIFAR-10, U-Net"],
    ["main-mnist", "MNIST"],
  ]),
  "bias.split": choice(
    "Noise added to",
    "A network that memorizes differs most between the images that it knows and those that it does not.",
    [
      ["heldOut", "Held-out images"],
      ["train", "Training images"],
    ],
  ),
  "bias.model": choice(
    "Trained on",
    "The network that memorizes, or the one that generalizes.",
    [
      ["few", "Few images"],
      ["many", "Many images"],
    ],
    { default: "many" },
  ),
  "bias.sample": range("Sample", "Which starting noise.", 1, 1, 64),
  "bias.step": range("Step", "The step that is shown large.", 9, 1, 64),
  "bias.sigma": logRange("Noise level σ", "The noise level of the linear denoiser that is shown.", 0.55, 0.002, 80),
  "bias.descentN": stops(
    "Training images N",
    "How many images the linear denoiser is trained on.",
    1024,
    [16, 64, 256, 1024, 4096],
  ),
  "bias.descentSigma": choice(
    "Noise level σ",
    "The noise level that the linear denoiser is trained at.",
    [
      [0.1, "0.1"],
      [0.5, "0.5"],
      [2, "2"],
    ],
    { default: 0.5 },
  ),
  "bias.descentRate": choice(
    "Step size (fraction of the stability limit)",
    "Beyond the stability limit each step overshoots more than the one before.",
    [
      [0.02, "1/50"],
      [0.1, "1/10"],
      [1.02, "1.02"],
    ],
    { default: 0.1 },
  ),
  "bias.descentTime": range("Steps of gradient descent", "The moment that is shown.", 64, 1, 1_000_000),
  "bias.seed": seed("Seed", "Seed of the networks that are trained here."),

  "emergence.run": choice("Run shown in Section IV", "Which run the figures of Section IV show.", [
    ["main-faces", "Faces, MLP"],
    ["faithful-faces", "Faces, U-Net"],
    ["cifar-cifar10", "CIFAR-10, U-Net"],
    ["main-mnist", "MNIST"],
  ]),
  "emergence.n": range("Training images N", "How many images the networks have seen.", 32, 1, 1_000_000),
  "emergence.width": range("Width", "Hidden units or channels of the network.", 384, 1, 1_000_000),
  "emergence.step": range("Training steps", "How long the network has trained.", 400, 1, 10_000_000),
  "emergence.agreementN": range(
    "Training images N",
    "How many images each of the two networks has seen.",
    4096,
    1,
    1_000_000,
  ),
  "emergence.seed": seed("Seed", "Seed of the networks that are trained here."),
  "emergence.agreementSeed": seed("Seed", "Seed of the two networks that are trained here."),

  "clocks.run": choice("Images", "What the networks of the two clocks were trained on.", [
    ["main-faces", "Faces"],
    ["main-mnist", "MNIST"],
    ["main-fashion", "Fashion"],
    ["cifar-quick-cifar10", "CIFAR-10"],
  ]),
  "clocks.optimizer": choice("Optimizer", "What turns gradients into updates.", [
    ["sgd", "SGD"],
    ["adam", "Adam"],
  ]),
  "clocks.axis": choice(
    "Time",
    "In which units the training time is shown: steps, steps per image, or that times the width.",
    [
      ["steps", "τ"],
      ["perImage", "τ / N"],
      ["perWidth", "τ W / N"],
    ],
  ),
  "clocks.seed": seed("Seed", "Seed of the networks that are trained here."),
  "clocks.featuresSeed": seed("Seed", "Seed of the random-features model."),
  "modes.run": choice("Images", "What the networks were trained on.", [
    ["main-faces", "Faces"],
    ["main-mnist", "MNIST"],
    ["main-fashion", "Fashion"],
    ["cifar-cifar10", "CIFAR-10"],
  ]),
  "modes.seed": seed("Seed", "Seed of the networks that are trained here."),
  "league.run": choice("Network", "Which recorded run the figures show.", [
    ["main-faces", "Faces, MLP"],
    ["faithful-faces", "Faces, U-Net"],
    ["main-mnist", "MNIST, MLP"],
    ["main-fashion", "Fashion, MLP"],
    ["cifar-cifar10", "CIFAR-10, U-Net"],
  ]),
  "league.n": choice(
    "Trained on",
    "The network of few or of many training images.",
    [
      ["few", "Few images"],
      ["many", "Many images"],
    ],
    { default: "many" },
  ),
  "edge.run": choice("Data", "Where the training images come from.", [
    ["main-faces", "Faces"],
    ["main-fashion", "Fashion"],
    ["main-mnist", "MNIST"],
    ["cifar-cifar10", "CIFAR-10"],
  ]),
  "edge.n": range("Training images N", "The size of the training set that is shown.", 1024, 1, 1_000_000),
  "mixtures.sigma": logRange("Noise level σ", "The noise level at which mixtures are compared.", 1, 0.002, 80),
  "window.sigma": logRange("Noise level σ", "The noise level at which derivatives are taken.", 1, 0.002, 80),

  "lab.measure": choice("Compare by", "What the chart shows of each run.", [
    ["gl", "GL score"],
    ["memorized", "Copies"],
    ["linearity", "Linearity"],
    ["cosine", "Similarity to Gaussian"],
  ]),
  "lab.n": range("Samples at N", "The training-set size whose samples are shown.", 32, 1, 99_999),
  "lab.experiment": choice("Experiment", "What is trained and measured: one of the figures above.", EXPERIMENTS),
  "lab.preset": choice("Start from", "Where fields that are left empty take their value.", PRESETS),
  "lab.data": choice("Data", "What the networks are trained on.", DATA),
  "lab.network": choice("Network", "An MLP looks at all pixels at once, a U-Net at neighbourhoods.", [
    ["preset", "As the preset"],
    ["mlp", "MLP"],
    ["unet", "U-Net"],
  ]),
  "lab.seed": seed("Seed", "Determines every random number of the run."),
  "lab.sizes": field("Training images N", "Sizes of the training sets, one network each.", WHOLE_NUMBERS, {
    config: "sizes",
    ...RISING,
  }),
  "lab.size": field("Pixels per side", "Side of an image; a U-Net needs a multiple of 4.", {
    pattern: /^(8|12|14|16|20|24|28|32)$/,
    form: "One of 8, 12, 14, 16, 20, 24, 28 and 32.",
  }),
  "lab.width": field("Width", "Hidden units of an MLP, or channels of a U-Net.", whole(4)),
  "lab.depth": field("Depth", "Blocks of an MLP, or resolutions of a U-Net.", ONE_TO_EIGHT),
  "lab.steps": field("Steps", "How long each network is trained.", whole(6), { config: "train.steps" }),
  "lab.batch": field("Batch", "Images per training step.", whole(4), { config: "train.batch" }),
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
    { config: "evaluation.samplerSteps" },
  ),
  "lab.beside": choice(
    "Beside the networks",
    "Which denoisers are fitted to the same images and measured beside the networks. Some theories take long.",
    [["paper", "The paper’s two"], ...THEORIES, ["all", "All"]],
    { of: ["transition", "gaussian-bias", "strong-generalization", "emergence"] },
  ),
  "lab.samples": field("Samples", "How many samples are drawn to measure.", whole(4), { config: "evaluation.samples" }),
  "lab.seeds": field("Seeds", "How many networks are trained at each size, from different seeds.", ONE_TO_EIGHT),
  "lab.longSteps": field(
    "Steps over time",
    "How long the networks that are followed over time are trained.",
    whole(6),
    {
      config: "trainLong.steps",
      ...OF_EMERGENCE,
    },
  ),
  "lab.checkpoints": field("Evaluate at steps", "When the networks are evaluated.", wholes(6, "100 400 1600"), {
    config: "checkpoints",
    ...RISING,
    ...OF_EMERGENCE,
  }),
  "lab.widths": field("Widths", "Widths that are compared, one network each.", WHOLE_NUMBERS, {
    config: "widths",
    ...RISING,
    ...OF_EMERGENCE,
  }),
  "lab.widthSizes": field(
    "Training images for width sweep",
    "Sizes of the training sets on which widths are compared.",
    WHOLE_NUMBERS,
    { config: "widthSizes", ...RISING, ...OF_EMERGENCE },
  ),

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
  "lab.floor": field(
    "Final rate (fraction)",
    "Fraction of the learning rate that is left at the end; 1 keeps it constant.",
    FRACTION,
    { config: "train.floor" },
  ),
  "lab.clip": field("Gradient clip", "Largest norm of a gradient; empty is no limit.", POSITIVE, {
    config: "train.clip",
  }),
  "lab.ema": field(
    "EMA decay (max)",
    "The largest fraction of itself that the moving average of the weights keeps per step.",
    FRACTION,
    { config: "train.emaLimit" },
  ),
  "lab.blowUp": field("Divergence threshold (loss)", "A network whose loss exceeds this has diverged.", POSITIVE, {
    config: "train.blowUp",
  }),
  "lab.sigmaData": field("σ_data", "The standard deviation that the preconditioning assumes.", POSITIVE, {
    config: "train.sigmaData",
  }),
  "lab.norm": choice("Normalization of a U-Net", "Whether groups of channels are normalized in a U-Net.", [
    ["none", "None"],
    ["group", "Groups"],
  ]),
  "lab.method": choice(
    "Sampler",
    "Heun calls the network twice per step, Euler once.",
    [
      ["heun", "Heun"],
      ["euler", "Euler"],
    ],
    { config: "evaluation.method" },
  ),
  "lab.sigmaMin": field("Lowest σ", "The noise level at which the sampler ends.", POSITIVE, {
    config: "evaluation.sigmaMin",
  }),
  "lab.sigmaMax": field("Highest σ", "The noise level at which the sampler begins.", POSITIVE, {
    config: "evaluation.sigmaMax",
  }),
  "lab.sigmas": field(
    "Compared at σ",
    "Noise levels at which denoisers are compared.",
    { pattern: /^\d{1,3}(\.\d{1,4})?( \d{1,3}(\.\d{1,4})?){0,15}$/, form: "Up to 16 numbers above 0." },
    { config: "evaluation.sigmas", list: "falling" },
  ),
  "lab.images": field("Images compared", "Images that are denoised at each noise level.", whole(4), {
    config: "evaluation.images",
  }),
  "lab.shown": field("Samples shown", "Samples that the report keeps as pictures.", whole(2), {
    config: "evaluation.shown",
  }),
  "lab.heldOut": field("Held-out images", "Images that no network sees.", whole(4)),
  "lab.dataSeed": field("Data seed", "Seed of the images, and of which of them are held out.", {
    pattern: /^\d{1,9}$/,
    form: "A whole number from 0 to 999999999.",
  }),
  "lab.axes": field("Principal axes", "How many axes are compared with those of the linear fit.", whole(2), {
    config: "axes",
    ...OF_BIAS,
  }),
  "lab.paths": field("Paths", "How many samples are followed step by step.", whole(2), { config: "paths", ...OF_BIAS }),
  "lab.fitBatches": field(
    "Batches of the fit",
    "Batches of 256 noisy images that the linear denoiser is fitted to.",
    whole(3),
    {
      config: "evaluation.distillation.batches",
      ...OF_BIAS,
    },
  ),
  "lab.fitImages": choice(
    "Linear fit on",
    "The images on which the linear denoiser imitates the network; on its training images it hides what the network memorized.",
    [
      ["heldOut", "Held-out"],
      ["training", "Training"],
    ],
    { config: "evaluation.distillation.images", ...OF_BIAS },
  ),
  "lab.fitMethod": choice(
    "Linear fit by",
    "The normal equations solve it directly; gradient descent, as in the paper, arrives at the same fit.",
    [
      ["normal", "Normal equations"],
      ["descent", "Descent"],
    ],
    { config: "evaluation.distillation.method", ...OF_BIAS },
  ),

  // What links carry besides settings.
  figure: field("Figure", "Shows this figure alone, for other pages to embed.", {
    pattern: /^[a-z-]+$/,
    form: "The name of a figure.",
  }),
  run: field("Run", "A run to repeat: experiment, preset, seed and data; or the address of a report to show.", {
    pattern: new RegExp(`${RUN.source}|${RUN_FILE.source}`),
    form: "As in a link from this page.",
  }),
  "run.config": field("Configuration of the run", "What differs from the preset, as JSON.", {
    pattern: /^\{.{0,4000}\}$/,
    form: "As in a link from this page.",
  }),
  "run.expect": field("Numbers of the run", "What came out where the link was made.", {
    pattern: EXPECT,
    form: "As in a link from this page.",
  }),
};

/** A parameter, whatever it is. @param {Key} key @returns {Parameter} */
export const parameter = (key) => parameters[key];

/** All keys, in the order of the table. */
export const keys = /** @type {Key[]} */ (Object.keys(parameters));

/** Every parameter at its default. @returns {Values} */
export const defaults = () =>
  /** @type {Values} */ (Object.fromEntries(keys.map((key) => [key, parameters[key].default])));
