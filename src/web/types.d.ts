/** Which engine runs, on what, and why. Rates are of a matrix multiply, in GFLOP/s. */
export interface EngineInfo {
  kind: "gpu" | "cpu";
  adapter: string;
  software: boolean;
  reason: string;
  rates: { cpu?: number; gpu?: number };
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
}

export interface Denoised {
  clean: Float32Array<ArrayBuffer>;
  noisy: Float32Array<ArrayBuffer>;
  empirical: Float32Array<ArrayBuffer>;
  gaussian: Float32Array<ArrayBuffer>;
  /** Largest softmax weights, largest first, and the training images that they belong to. */
  weights: Float32Array<ArrayBuffer>;
  indices: Uint32Array<ArrayBuffer>;
  /** How many training images effectively take part: e to the entropy of the weights. */
  effective: number;
}

/** x_t for each noise level, D(x_t) for each but the last, and the training image nearest to the end. */
export interface Path {
  x: Float32Array<ArrayBuffer>;
  d: Float32Array<ArrayBuffer>;
  nearest: { index: number; d1: number; d2: number };
}

export interface Trajectories {
  sigmas: Float32Array<ArrayBuffer>;
  empirical: Path;
  gaussian: Path;
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
  empirical: SampleSet;
  gaussian: SampleSet;
  heldOutGl: number;
}

export type ExperimentName = "transition" | "gaussian-bias" | "emergence" | "strong-generalization";

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
      status: { name: "learning" } | { name: "diverged"; step: number };
    }[];
  };
}

/** A number over time, as it happened and as the theorem says. */
export interface Curve {
  measured: Float64Array<ArrayBuffer>;
  theory: Float64Array<ArrayBuffer>;
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
  kind: "NoAdapter" | "DeviceLost" | "Gpu" | "LimitExceeded" | "Timeout" | "BadInput" | "Cancelled";
  hint: string;
  need?: number;
  have?: number;
}
