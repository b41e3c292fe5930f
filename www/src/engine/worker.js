/**
 * The engine's home: this worker owns the WebAssembly instance, the GPU device and the data. Nothing is trained here, so
 * the library without training will do: that is less to wait for.
 * It answers calls one at a time, in the order in which they came, and keeps the last engine, data set and fit,
 * because neighbouring calls are nearly always about the same ones.
 */
import init, { Dataset, Engine, Exact, PictureSet, unzip, wienerDescent } from "../../pkg/exact/hidden_gaussian.js";
import { DATA_SETS } from "../data.js";
import { importer } from "./import.js";
import { toFailure } from "./protocol.js";
import { post, serve } from "./serve.js";

/**
 * @typedef {import("./protocol.js").Calls} Calls
 * @typedef {import("./protocol.js").Kind} Kind
 * @typedef {import("./protocol.js").Setting} Setting
 * @typedef {import("./protocol.js").Pictures} Pictures
 * @typedef {import("./protocol.js").EngineInfo} EngineInfo
 * @typedef {import("./protocol.js").EngineChoice} EngineChoice
 * @typedef {import("./protocol.js").Failure} Failure
 * @typedef {import("./protocol.js").DataName} DataName
 */

/** How many of the heaviest training images the page shows. */
const HEAVIEST = 16;
/** Pixels a side of the faces that the linear denoiser is trained on: small, so that a wish is granted at once. */
const WIENER_SIZE = 12;
/** How many training images the page shows as a taste of a data set. */
const GALLERY = 24;

const ready = init({ module_or_path: new URL("../../pkg/exact/hidden_gaussian_bg.wasm", import.meta.url) });
const { importFiles, makeDataset } = importer({ Dataset, PictureSet, unzip });

/** `settled`: false while "auto" still has to measure. @type {{choice: EngineChoice, engine: Engine, settled: boolean} | undefined} */
let opened;
/** What the comparison of the engines measured. @type {EngineInfo["rates"]} */
let rates = {};
/** Why the last device was lost, until a new one is there. @type {Failure | null} */
let lost = null;
/** @type {{name: DataName, set: Dataset} | undefined} */
let loaded;
/** The reader's own images, kept while another set is on the screen. @type {Dataset | undefined} */
let own;
/** @type {{engine: Engine, set: Dataset, n: number, exact: Exact} | undefined} */
let fitted;
/** The images of the linear denoiser. @type {Dataset} */
let faces;

/** Whether the page has had an answer to show: only then is there time to measure. */
let answered = false;

serve(ready, answer, async () => {
  if (!answered || !opened || opened.settled) return false;
  await settle(opened);
  return true;
});

/**
 * @template {Kind} K
 * @param {K} call
 * @param {Calls[K]["call"]} payload
 * @returns {Promise<Calls[K]["result"]>}
 */
async function answer(call, payload) {
  const handler = /** @type {(payload: Calls[K]["call"]) => Promise<Calls[K]["result"]>} */ (handlers[call]);
  try {
    const result = await handler(payload).catch((thrown) => {
      const failure = toFailure(thrown);
      if (failure.kind !== "DeviceLost") throw thrown;
      // A lost device is a normal event: everything on it is gone, so make it again and repeat the call once.
      lost = failure;
      closeEngine();
      return handler(payload);
    });
    answered = true;
    return result;
  } finally {
    busy("");
  }
}

/** @type {{[K in Kind]: (payload: Calls[K]["call"]) => Promise<Calls[K]["result"]>}} */
const handlers = {
  async open({ engine }) {
    await openEngine(engine);
    return null;
  },

  async measure() {
    await openEngine("auto");
    if (opened && !opened.settled) await settle(opened);
    return rates;
  },

  async describe({ setting }) {
    const set = await dataset(setting.data);
    const data = set.info();
    const n = Math.min(setting.n, data.trainCount);
    const shown = Array.from({ length: Math.min(GALLERY, n) }, (_, i) => set.train(i));
    return { data, n, gallery: pictures(set, join(shown)) };
  },

  async denoise({ setting, split, image, sigma, seed }) {
    const { exact, set, n } = await fit(setting);
    const images = imageCount(set, split, n);
    const index = image % images;
    const start = performance.now();
    const { clean, noisy, empirical, gaussian, weights, indices, effective } = await exact.denoise(
      set,
      split,
      index,
      sigma,
      seed,
    );
    const elapsedMs = performance.now() - start;
    const heaviest = [...indices.subarray(0, HEAVIEST)].map((i) => set.train(i));
    return {
      n,
      image: index,
      imageCount: images,
      clean: pictures(set, clean),
      noisy: pictures(set, noisy),
      empirical: pictures(set, empirical),
      gaussian: pictures(set, gaussian),
      rmse: { empirical: rmse(empirical, clean), gaussian: rmse(gaussian, clean) },
      weights,
      indices,
      heaviest: pictures(set, join(heaviest)),
      effective,
      elapsedMs,
    };
  },

  async sweep({ setting, split, image, sigmas, seed }) {
    const { exact, set, n } = await fit(setting);
    const index = image % imageCount(set, split, n);
    /** @type {import("./protocol.js").SweepResult} */
    const result = { sigmas, empirical: [], gaussian: [], between: [], effective: [] };
    for (const sigma of sigmas) {
      const { clean, empirical, gaussian, effective } = await exact.denoise(set, split, index, sigma, seed);
      result.empirical.push(rmse(empirical, clean));
      result.gaussian.push(rmse(gaussian, clean));
      result.between.push(rmse(empirical, gaussian));
      result.effective.push(effective);
    }
    return result;
  },

  async trajectory({ setting, seed, steps }) {
    const { exact, set } = await fit(setting);
    const start = performance.now();
    const { sigmas, empirical, gaussian } = await exact.trajectory({ steps, method: "euler", seed });
    const elapsedMs = performance.now() - start;
    const dimensions = empirical.d.length / steps;
    /** @param {Float32Array} images @param {number} i */
    const image = (images, i) => images.subarray(i * dimensions, (i + 1) * dimensions);
    const all = Array.from({ length: steps }, (_, i) => i);
    /** @param {typeof empirical} path */
    const show = ({ x, d, nearest }) => ({
      toEnd: all.map((i) => rmse(image(d, i), image(x, steps))),
      x: pictures(set, x),
      d: pictures(set, d),
      nearest: pictures(set, set.train(nearest.index)),
      index: nearest.index,
      d1: nearest.d1,
      d2: nearest.d2,
    });
    const between = all.map((i) => rmse(image(empirical.d, i), image(gaussian.d, i)));
    return { sigmas, empirical: show(empirical), gaussian: show(gaussian), between, elapsedMs };
  },

  async samples({ setting, seed, count }) {
    const { exact, set, n } = await fit(setting);
    busy("Drawing samples");
    const start = performance.now();
    const { empirical, gaussian, heldOutGl } = await exact.samples({ count, seed });
    const elapsedMs = performance.now() - start;
    /** @param {typeof empirical} samples */
    const show = ({ images, nearest, ...numbers }) => ({
      images: pictures(set, images),
      nearest: pictures(set, join([...nearest].map((i) => set.train(i)))),
      indices: nearest,
      ...numbers,
    });
    return { empirical: show(empirical), gaussian: show(gaussian), heldOutGl, n, elapsedMs };
  },

  async wiener(options) {
    faces ??= Dataset.faces({ size: WIENER_SIZE, count: DATA_SETS.faces.pool, seed: 0 });
    const { rows, goal, ...numbers } = wienerDescent(faces, options);
    const scale = goal.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
    const show = (/** @type {Float32Array} */ weights) => signedPictures(faces, weights, scale);
    return { ...numbers, rows: rows.map(show), goal: show(goal) };
  },

  async import({ files, size, colour }) {
    busy("Reading your files");
    const set = await importFiles(files, { size, colour });
    // Only now is the old set given up: a broken file costs the reader nothing.
    if (fitted?.set === own) closeFit();
    if (loaded?.set === own) loaded = undefined;
    own?.free();
    own = set;
    return { data: set.info() };
  },
};

/**
 * The engine of this choice. "auto" begins on the CPU, which is there at once: the first picture does not wait for the
 * measurement. One that cannot be had is replaced by the CPU, and the page is told why.
 * @param {EngineChoice} choice
 */
async function openEngine(choice) {
  if (opened?.choice === choice) return opened.engine;
  busy("Starting the engine");
  closeEngine();
  let problem = lost;
  const engine = await Engine.open(choice === "auto" ? "cpu" : choice).catch((thrown) => {
    if (choice !== "gpu") throw thrown;
    problem ??= toFailure(thrown);
    return Engine.open("cpu");
  });
  opened = { choice, engine, settled: choice !== "auto" };
  if (opened.settled) tell(engine, problem);
  return engine;
}

/**
 * Measure both engines, now that nobody waits, and move to the GPU if it is the faster one.
 * @param {NonNullable<typeof opened>} current
 */
async function settle(current) {
  current.settled = true;
  busy("Comparing the engines");
  const measured = await Engine.open("auto").catch((thrown) => tell(current.engine, toFailure(thrown)));
  if (measured?.info().kind === "cpu") {
    tell(measured, lost);
    measured.free();
  } else if (measured) {
    const before = fitted;
    closeEngine();
    opened = { ...current, engine: measured };
    tell(measured, lost);
    // So that the next drag is answered at once. If it fails, that drag fits again and shows the failure.
    if (before) await fitOn(measured, before.set, before.n).catch(() => {});
  }
  busy("");
}

/**
 * Tell the page which engine runs from now on.
 * @param {Engine} engine
 * @param {Failure | null} problem
 */
function tell(engine, problem) {
  lost = null;
  const info = engine.info();
  rates = info.rates;
  post({ kind: "event", event: "engine", engine: { ...info, problem } });
}

/**
 * The data set of this name, made or fetched when it is first asked for.
 * @param {DataName} name
 */
async function dataset(name) {
  if (loaded?.name === name) return loaded.set;
  const set = name === "own" ? own : await drawOrFetch(name);
  if (!set) {
    throw { kind: "BadInput", message: "Your own images are no longer loaded", hint: "Choose the files again." };
  }
  if (loaded && loaded.set !== own) {
    if (fitted?.set === loaded.set) closeFit();
    loaded.set.free();
  }
  loaded = { name, set };
  return set;
}

/** @param {Exclude<DataName, "own">} name */
function drawOrFetch(name) {
  const { size, file, pool } = DATA_SETS[name];
  busy(file ? "Fetching the data" : "Drawing the training images");
  return makeDataset({ set: name, size, count: pool, seed: 0 });
}

/**
 * Both denoisers, fitted to the first `n` training images.
 * @param {Setting} setting
 */
async function fit(setting) {
  const set = await dataset(setting.data);
  const engine = await openEngine(setting.engine);
  const n = Math.min(setting.n, set.info().trainCount);
  if (fitted && fitted.engine === engine && fitted.set === set && fitted.n === n) return fitted;
  return fitOn(engine, set, n);
}

/**
 * @param {Engine} engine
 * @param {Dataset} set
 * @param {number} n
 */
async function fitOn(engine, set, n) {
  closeFit();
  busy("Fitting the denoisers");
  return (fitted = { engine, set, n, exact: await Exact.fit(engine, set, n) });
}

/**
 * How many images the reader can choose from.
 * @param {Dataset} set
 * @param {import("./protocol.js").Split} split
 * @param {number} n
 */
function imageCount(set, split, n) {
  return split === "train" ? n : set.info().heldOutCount;
}

function closeFit() {
  fitted?.exact.free();
  fitted = undefined;
}

function closeEngine() {
  closeFit();
  opened?.engine.free();
  opened = undefined;
}

/**
 * @param {Dataset} set
 * @param {Float32Array} values any number of images
 * @returns {Pictures}
 */
function pictures(set, values) {
  const { width, height } = set.info();
  return { width, height, rgba: /** @type {Uint8ClampedArray<ArrayBuffer>} */ (set.rgba(values)) };
}

/**
 * Weights as images: zero is mid-grey, `scale` white and its negative black.
 * @param {Dataset} set whose images they belong to
 * @param {Float32Array} weights
 * @param {number} scale
 * @returns {Pictures}
 */
function signedPictures(set, weights, scale) {
  const { width, height, channels } = set.info();
  const rgba = new Uint8ClampedArray((4 * weights.length) / channels).fill(255);
  for (let pixel = 0; 4 * pixel < rgba.length; pixel++) {
    for (let c = 0; c < 3; c++) {
      rgba[4 * pixel + c] = 127.5 * (1 + weights[channels * pixel + Math.min(c, channels - 1)] / scale);
    }
  }
  return { width, height, rgba };
}

/** @param {Float32Array[]} parts */
function join(parts) {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/**
 * @param {Float32Array} a
 * @param {Float32Array} b
 */
function rmse(a, b) {
  return Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0) / a.length);
}

/** @param {string} text */
function busy(text) {
  post({ kind: "event", event: "busy", text });
}
