// The networks of the presets, and all that their training steps have in common.

/** Images to learn from. */
export const IMAGES = 256;

/** Standard deviation of the data, and the noise levels of training: ln σ ~ N(mean, deviation). */
export const EDM = { sigmaData: 0.5, logMean: -0.6, logDeviation: 1 };

export const ADAM = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, warmUp: 100, emaLimit: 0.99 };

export const PRESETS = {
  quick: { kind: "mlp", size: 12, width: 192, depth: 2, batch: 32, rate: 4e-3 },
  main: { kind: "mlp", size: 12, width: 384, depth: 2, batch: 64, rate: 4e-3 },
  faithful: { kind: "unet", size: 16, width: 16, batch: 64, rate: 2e-3 },
};

const COLOUR = { kind: "unet", size: 32, channels: 3, levels: 3, silu: true, batch: 64, rate: 2e-3 };

/** Networks for photographs in colour: a step of theirs takes seconds in software. */
export const LARGE = {
  "cifar-quick": { ...COLOUR, width: 16 },
  cifar: { ...COLOUR, width: 32 },
};

export const NETWORKS = { ...PRESETS, ...LARGE };

/** Numbers of an image. */
export const pixels = ({ size, channels = 1 }) => size ** 2 * channels;

/** Frequencies of ln σ in the noise embedding, as factors of it: 16 from 2⁻¹ to 2⁴, times π/8. */
export const FREQUENCIES = Array.from({ length: 16 }, (_, j) => (2 ** (j / 3 - 1) * Math.PI) / 8);

const EMBEDDING = 64;

/**
 * The layers of a network: name, kind, inputs, outputs, size of the initial weights relative to
 * 1 / √(fan-in). A convolution is 3×3, a linear layer a matrix (or a 1×1 convolution).
 */
export function layers({ kind, size, channels = 1, width, levels = 2, depth }) {
  const linear = (name, inputs, outputs, gain = 1) => ({ name, kernel: 0, inputs, outputs, gain });
  const conv = (name, inputs, outputs, gain = 1) => ({ name, kernel: 3, inputs, outputs, gain });
  const modulation = (outputs) => [
    linear("embed", 2 * FREQUENCIES.length, EMBEDDING),
    linear("film", EMBEDDING, outputs, 0.3),
  ];
  if (kind === "mlp") {
    const blocks = Array.from({ length: depth }, (_, i) => linear(`block${i}`, width, width));
    return [
      ...modulation(2 * width * depth),
      linear("input", size ** 2, width),
      ...blocks,
      linear("output", width, size ** 2, 0.01),
    ];
  }
  const block = (name, inputs, outputs) => [
    conv(`${name}.first`, inputs, outputs),
    conv(`${name}.second`, outputs, outputs, 0.3),
    ...(inputs === outputs ? [] : [linear(`${name}.skip`, inputs, outputs)]),
  ];
  const finer = Array.from({ length: levels - 1 }, (_, level) => level);
  const at = (level) => width * 2 ** level;
  const bottom = at(levels - 1);
  const modulated = finer.reduce((sum, level) => sum + 2 * at(level), 2 * bottom);
  return [
    ...modulation(2 * modulated),
    conv("input", 4 * channels, width),
    ...finer.flatMap((level) => [
      ...block(`down${level}`, at(level), at(level)),
      conv(`half${level}`, at(level), at(level + 1)),
    ]),
    ...block("bottom0", bottom, bottom),
    ...block("bottom1", bottom, bottom),
    ...finer
      .toReversed()
      .flatMap((level) => [
        conv(`double${level}`, at(level + 1), at(level)),
        ...block(`up${level}`, 2 * at(level), at(level)),
      ]),
    conv("output", width, 4 * channels, 0.01),
  ];
}

/** Numbers that a network learns. */
export function parameterCount(preset) {
  const count = ({ kernel, inputs, outputs }) => ((kernel ** 2 || 1) * inputs + 1) * outputs;
  return layers(preset).reduce((sum, layer) => sum + count(layer), 0);
}

const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

/** Initial weights of a layer: normal draws. */
export function initialWeights({ kernel, inputs, outputs, gain }) {
  const fanIn = (kernel ** 2 || 1) * inputs;
  return Float32Array.from({ length: fanIn * outputs }, () => (gain / Math.sqrt(fanIn)) * normal());
}

/** Images to learn where none are given: noise. */
export function noise(preset) {
  return Float32Array.from({ length: IMAGES * pixels(preset) }, () => EDM.sigmaData * normal());
}
