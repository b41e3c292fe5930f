/** Which engine runs, on what, and why. Rates are of a matrix multiply, in GFLOP/s. */
export interface EngineInfo {
  kind: "gpu" | "cpu";
  adapter: string;
  software: boolean;
  reason: string;
  rates: { cpu?: number; gpu?: number };
}

/**
 * Lets the class `Eigen` of the package `hidden-gaussian/eigen` find the principal axes of images of more than 256
 * numbers. Without it this library does, and takes several times as long.
 */
export function useEigen(Eigen: { begin(matrix: Float64Array, order: number): object }): void;

export type EngineKind = "auto" | "cpu" | "gpu";

/** Procedural faces. */
export interface FacesOptions {
  size: number;
  count: number;
  seed: number;
  heldOut?: number;
}

/** How to read and split a set. */
export interface ImportOptions {
  /** Pixels along a side; by default as in the file, up to 64. */
  size?: number;
  /** False for grey; by default images stay what they are. */
  colour?: boolean;
  /** 1 (grey) or 3 (colour), as a recipe has it. */
  channels?: number;
  /** False to squash pictures instead of cutting out their middle square. */
  crop?: boolean;
  /** Images of this class only. */
  class?: string | null;
  seed?: number;
  heldOut?: number;
}

/** How to make the same images again. */
export interface Recipe {
  set: string;
  size: number;
  channels?: number;
  crop?: boolean;
  class?: string | null;
  seed: number;
  count: number;
  heldOut: number;
  source?: string;
  /** What the images are; the same wherever they come from. */
  hash?: string;
}

export interface DatasetInfo {
  set: string;
  name: string;
  source: string;
  licence: string;
  note: string;
  height: number;
  width: number;
  channels: number;
  count: number;
  trainCount: number;
  heldOutCount: number;
  /** What its classes are called; none if its images have no labels. */
  classes: string[];
  /** What the images are; the same wherever they come from. */
  hash: string;
}

/** The names of denoisers. */
export type DenoiserId = "trained" | "linear" | "gaussian" | "empirical" | "ls" | "els" | "pca-locality" | "mixture";

/** Something for each denoiser that was evaluated. */
export type ByDenoiser<T> = { [id in DenoiserId]?: T };

export interface DenoiseOptions {
  data: Dataset;
  split: "train" | "heldOut";
  image: number;
  sigma: number;
  seed: number;
}

export interface SamplesOptions {
  count: number;
  seed: number;
}

/** One of these samples. */
export interface PathOptions extends SamplesOptions {
  index: number;
}

/** A clean image, the same with noise, and that denoised by each denoiser. */
export interface Denoised {
  clean: Float32Array<ArrayBuffer>;
  noisy: Float32Array<ArrayBuffer>;
  denoisers: ByDenoiser<Float32Array<ArrayBuffer>>;
  /** The softmax weights of D_M: how likely each training image is to have become the noisy one. */
  posterior: {
    /** The largest weights, largest first, and the training images that they belong to. */
    weights: Float32Array<ArrayBuffer>;
    indices: Uint32Array<ArrayBuffer>;
    /** How many training images effectively take part: e to the entropy of the weights. */
    effective: number;
  };
}

/** x_t for each noise level, D(x_t) for each but the last, and the training image nearest to the end. */
export interface SamplerPath {
  x: Float32Array<ArrayBuffer>;
  d: Float32Array<ArrayBuffer>;
  nearest: { index: number; d1: number; d2: number };
}

export interface Paths {
  sigmas: Float32Array<ArrayBuffer>;
  denoisers: ByDenoiser<SamplerPath>;
}

export interface SampleSet {
  images: Float32Array<ArrayBuffer>;
  nearest: Uint32Array<ArrayBuffer>;
  d1: Float32Array<ArrayBuffer>;
  d2: Float32Array<ArrayBuffer>;
  gl: number;
  glSquared: number;
  memorized: number;
}

export interface Samples {
  denoisers: ByDenoiser<SampleSet>;
  /** What held-out images score. */
  heldOut: { gl: number };
}

export type ExperimentName =
  | "transition"
  | "gaussian-bias"
  | "emergence"
  | "strong-generalization"
  | "clocks"
  | "modes";

export type Architecture =
  | { kind: "mlp"; width: number; depth: number }
  | { kind: "unet"; shape: Shape; width: number; levels: number; norm: "none" | "group" };

export interface Shape {
  height: number;
  width: number;
  channels: number;
}

/** What turns gradients into updates; SGD: v ← momentum · v + g, w ← w − rate · v. */
export type Optimizer = { kind: "adam" } | { kind: "sgd"; momentum: number };

/** How an ensemble is trained. */
export interface TrainConfig {
  architecture: Architecture;
  batch: number;
  steps: number;
  /** Adam, if it is not there. */
  optimizer?: Optimizer;
  rate: number;
  floor: number;
  warmUp: number;
  clip: number | null;
  blowUp: number;
  emaLimit: number;
  logSigmaMean: number;
  logSigmaDeviation: number;
  sigmaData: number;
  seeds: number[];
}

/** What to evaluate, and with which noise. */
export interface EvalConfig {
  denoisers?: DenoiserId[];
  samples: number;
  shown: number;
  samplerSteps: number;
  sigmaMin: number;
  sigmaMax: number;
  method: "euler" | "heun";
  sigmas: number[];
  images: number;
  distillation: { batches: number; images: "heldOut" | "training"; method: "normal" | "descent" } | null;
  seed: number;
}

export interface Configs {
  transition: { sizes: number[]; seeds: number[]; train: TrainConfig; evaluation: EvalConfig };
  "gaussian-bias": {
    sizes: number[];
    seeds: number[];
    train: TrainConfig;
    evaluation: EvalConfig;
    axes: number;
    paths: number;
  };
  emergence: {
    sizes: number[];
    trainLong: TrainConfig;
    widths: number[];
    widthSizes: number[];
    train: TrainConfig;
    seeds: number[];
    checkpoints: number[];
    evaluation: EvalConfig;
  };
  "strong-generalization": {
    sizes: number[];
    /** Each size is trained once from each pair of seeds: one for either network. */
    seeds: [number, number][];
    train: TrainConfig;
    evaluation: EvalConfig;
  };
  clocks: {
    sizes: number[];
    seeds: number[];
    train: TrainConfig;
    /** Other ways to train, beside it. */
    others: TrainConfig[];
    schedule: MeasurementSchedule;
    evaluation: EvalConfig;
  };
  modes: {
    sizes: number[];
    seeds: number[];
    train: TrainConfig;
    /** Other ways to train, beside it. */
    others: TrainConfig[];
    schedule: MeasurementSchedule;
    axes: number;
    evaluation: EvalConfig;
  };
}

/** When networks are measured: the step of the first measurement, and the number of measurements per doubling of the steps. */
export interface MeasurementSchedule {
  first: number;
  perDoubling: number;
}

/** The configuration of an experiment. */
export type Config<E extends ExperimentName = ExperimentName> = Configs[E];

export interface Estimate {
  mean: number;
  standardError: number;
  count: number;
}

export interface Closeness {
  /** ‖x − NN(x)‖ / ‖x‖: 0 for copies. */
  gl: Estimate;
  /** The same with ‖x‖² below. */
  glSquared: Estimate;
  /** The fraction of samples that are copies. */
  memorized: Estimate;
}

export interface Linearity {
  cosine: Estimate;
  nmse: Estimate;
  correctedCosine: Estimate;
  correctedNmse: Estimate;
}

/** A number at each noise level of `report.sigmas`, on two sets of images. */
export interface BySet {
  heldOut: Estimate[];
  train: Estimate[];
}

/** Denoiser a against b. */
export interface Comparison {
  /** Cosine between samples from the same noise, after subtracting the mean training image. */
  cosine: Estimate;
  /** ‖x_a − x_b‖ / ‖x_b − mean‖. */
  distance: Estimate;
  /** Score difference (eq. 6). */
  difference: BySet;
}

/** What is reported of one denoiser. Images are base64, one byte per value. */
export interface Measures {
  closeness: Closeness;
  linearity?: Linearity[];
  error: BySet;
  /** Against every denoiser that comes later in the table. */
  against: ByDenoiser<Comparison>;
  samples?: string;
  /** The training image nearest to each sample, for `trained`. */
  nearest?: string;
}

export type Status = { name: "learning" } | { name: "diverged"; step: number };

/** One network at one moment, and the denoisers beside it. */
export interface Point {
  first: number;
  n: number;
  seed: number;
  architecture: Architecture;
  parameters: number;
  step: number;
  epochs: number;
  status: Status;
  /** Held-out images against the training set: what a perfect generator would score. */
  heldOut: Closeness;
  denoisers: { trained: Measures } & ByDenoiser<Measures>;
}

export interface Alignment {
  sigma: number;
  matrix: number[][];
  overlap: number;
}

export interface Filters {
  sigma: number;
  pixels: [number, number][];
  rows: ByDenoiser<string>;
}

export interface Path {
  denoised: string[];
  /** How far these images are from the network's at each step: the root mean square, in grey levels of 255. */
  fromNetwork: number[];
  samples: string;
  nearest: string;
}

export interface Bias extends Point {
  alignment: Alignment[] | null;
  filters: Filters[] | null;
  axes: string;
  pathSigmas: number[];
  paths: ByDenoiser<Path>;
}

export interface Agreement {
  n: number;
  cosine: Estimate;
  cosineOtherNoise: Estimate;
  networks: [Point, Point];
}

/** One network over its training. */
export interface CourseOf<Moment> {
  first: number;
  n: number;
  seed: number;
  optimizer: Optimizer;
  rate: number;
  architecture: Architecture;
  parameters: number;
  status: Status;
  moments: Moment[];
}

/** A mean with its 95 % bootstrap interval. */
export interface Bounded {
  mean: number;
  low: number;
  high: number;
}

/** A time in steps, with its 95 % bootstrap interval; `draws`: the time in each resample, null where it never came. */
export interface ClockTime {
  step: number;
  low: number;
  high: number;
  draws: (number | null)[];
}

export interface ClocksCourse
  extends CourseOf<{
    step: number;
    /** Fraction of copies. */
    memorized: Bounded;
    /** Cosine between its samples and those of the Gaussian denoiser of its training images, from the same noise. */
    likeness: Bounded;
    /** ‖D(y + σn) − y‖² / dσ² on training images, and on held-out images. */
    train: Bounded;
    heldOut: Bounded;
  }> {
  times: { generalized: ClockTime | null; overfitted: ClockTime | null; memorized: ClockTime | null };
}

export interface ModesCourse extends CourseOf<{ step: number; variances: number[] }> {
  /** Variances of the training images along their principal axes. */
  variances: number[];
  /** When each axis emerged, in steps; null where there is nothing to learn, or it did not. */
  emerged: (number | null)[];
}

/** What to solve: d numbers in an image, ψ_p features for each, at time t of the forward process. */
export interface RandomFeaturesSetting {
  dim: number;
  features: number;
  time: number;
  /** Draws of noise for each training image. */
  draws: number;
  tested: number;
  seed: number;
}

/** The loss of the model over training time τ, in closed form. */
export interface RandomFeaturesCurves {
  images: number;
  times: number[];
  train: number[];
  test: number[];
  /** When the test loss is least. */
  generalized: number;
  /** When the gap between test and training loss is half of what it comes to. */
  memorized: number;
  spectrum: number[];
}

export interface FindingsOf {
  transition: Point[];
  "gaussian-bias": Bias[];
  emergence: { overWidth: Point[]; overTime: Point[] };
  "strong-generalization": Agreement[];
  clocks: ClocksCourse[];
  modes: ModesCourse[];
}

/** The findings of an experiment. */
export type Findings<E extends ExperimentName = ExperimentName> = FindingsOf[E];

/** The report of an experiment. Numbers that diverged are NaN. */
export type Report<E extends ExperimentName = ExperimentName> = {
  [Name in E]: {
    format: 2;
    experiment: Name;
    version: string;
    engine: "cpu" | "gpu";
    adapter: string | null;
    shape: Shape;
    data: Recipe;
    seconds: number;
    final: boolean;
    /** The noise levels over which lists run. */
    sigmas: number[];
    config: Config<Name>;
    findings: Findings<Name>;
    record?: { command: string; date: string; device: string; commit: string | null };
  };
}[E];

/** A run whose experiment is known. */
export interface ExperimentRun<E extends ExperimentName> extends Run {
  /** A report of a few samples at a few noise levels: cheap enough to follow a run. */
  preview(): Promise<Report<E>>;
  /** The report. */
  report(): Promise<Report<E>>;
}

export namespace Run {
  /** Prepares an experiment to train on `data`. */
  function start<E extends ExperimentName>(options: {
    engine: Engine;
    data: Dataset;
    experiment: E;
    config: Config<E>;
  }): Promise<ExperimentRun<E>>;
}

/** The configuration of a preset for images like those of `data`. */
export function presetConfig<E extends ExperimentName>(options: {
  experiment: E;
  preset: "quick" | "main" | "faithful" | "cifar-quick" | "cifar";
  data: Dataset;
  seed: number;
}): Config<E>;

/** Splits a configuration into at most `workers` of about equal work. */
export function shards<E extends ExperimentName>(options: {
  experiment: E;
  config: Config<E>;
  workers: number;
}): Config<E>[];

/** Training images that a configuration needs. */
export function imagesNeeded<E extends ExperimentName>(options: { experiment: E; config: Config<E> }): number;

/** How far an experiment is. */
export interface Progress {
  /** Training steps, of all its ensembles. */
  step: number;
  total: number;
  secondsLeft: number | null;
  /** The ensemble that has just trained. */
  training: {
    step: number;
    total: number;
    stepsPerSecond: number;
    secondsLeft: number | null;
    members: {
      /** Mean of the steps since the last report. */
      loss: number | null;
      gradientNorm: number;
      status: Status;
    }[];
  };
}

/** A distance over the steps: of the weights that the steps lead to, and by the formula of the theorem. */
export interface Curve {
  iterate: Float64Array<ArrayBuffer>;
  closedForm: Float64Array<ArrayBuffer>;
}

/** Theorem 1: gradient descent on a linear denoiser ends at the Wiener filter. Lists run over `steps`. */
export interface WienerDescent {
  /** The step size, and the one beyond which descent diverges. */
  rate: number;
  limit: number;
  /** 1, 2, 4, …; fewer than asked for where the numbers overflow. */
  steps: Uint32Array<ArrayBuffer>;
  /** ‖W_t − W_G‖ / ‖W_G‖. */
  distance: Curve;
  /** ‖b_t − b_G‖ / ‖μ‖. */
  bias: Float64Array<ArrayBuffer>;
  /** The same along some principal axes, counted from 1. */
  directions: { axis: number; variance: number; error: Curve }[];
  /** Pixels whose rows of W are shown. */
  pixels: Uint32Array<ArrayBuffer>;
  /** For each step, these rows of W_t one after the other, each an image; and those of W_G. */
  rows: Float32Array<ArrayBuffer>[];
  goal: Float32Array<ArrayBuffer>;
}

/** One check of this machine: it holds if its largest error is within the tolerance. */
export interface Check {
  name: string;
  about: string;
  error: number;
  tolerance: number;
  holds: boolean;
}

/** Thrown by every call that fails. */
export interface ComputeError extends Error {
  kind:
    | "NoAdapter"
    | "DeviceLost"
    | "Gpu"
    | "LimitExceeded"
    | "Timeout"
    | "BadInput"
    | "Cancelled"
    | "Network"
    | "Internal";
  hint: string;
  need?: number;
  have?: number;
}
