/**
 * The page's own engine: this worker owns a WebAssembly instance, the GPU device and the data. Nothing is trained here, so
 * the library without training will do: that is less to wait for. It takes one call at a time, in the order in which they
 * came.
 */
import init, {
  Dataset,
  PictureSet,
  RandomFeatures,
  unzip,
  useEigen,
  wienerDescent,
} from "../../pkg/exact/hidden_gaussian.js";
import { mapDenoisers } from "../reports/map-denoisers.js";
import { DATA_SETS } from "../state/data-sets.js";
import { loadEigen } from "./eigen.js";
import { EngineHolder } from "./engine-holder.js";
import { Fits } from "./fits.js";
import { importer } from "./import.js";
import { pictures, rmse, signedPictures, trainingPictures, widestRmse } from "./pictures.js";
import { toFailure } from "./protocol.js";
import { post, serve } from "./serve.js";

/**
 * @import { Split } from "../state/parameters.js"
 * @import { Calls, Kind, SweepResult } from "./protocol.js"
 */

/** How many of the heaviest training images the page shows. */
const HEAVIEST = 16;
/** Pixels per side of the faces that the linear denoiser is trained on: small, so that the result comes at once. */
const WIENER_SIZE = 12;
/** How many training images the page shows as examples of a data set. */
const EXAMPLES = 24;

/** @param {string} text @param {number} [fraction] how much of it is done, if that is known */
const busy = (text, fraction) => post({ kind: "event", event: "busy", text, fraction });

const { importFiles, makeDataset } = importer({ Dataset, PictureSet, unzip });
const engines = new EngineHolder({
  busy,
  closing: () => fits.close(),
  opened: (engine) => post({ kind: "event", event: "engine", engine }),
});
const fits = new Fits(engines, makeDataset, busy);
/** The images of the linear denoiser. @type {Dataset} */
let faces;
/** Whether the page has had something to show: only then is there time to measure. */
let answered = false;

serve(init(), answer, async () => {
  if (!answered || !engines.unsettled) return false;
  await settle();
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
      engines.lose(failure);
      return handler(payload);
    });
    answered = true;
    return result;
  } finally {
    busy("");
  }
}

/** Move to the faster engine, with what is fitted, so that the next drag need not wait. */
async function settle() {
  const before = fits.current;
  const faster = await engines.settle();
  // If it fails, the next call fits again and shows the failure.
  if (faster && before) await fits.fitOn(faster, before.set, before.n).catch(() => {});
  busy("");
}

/** @type {{[K in Kind]: (payload: Calls[K]["call"]) => Promise<Calls[K]["result"]>}} */
const handlers = {
  async open({ engine }) {
    await engines.open(engine);
    return null;
  },

  async measure({ engine: choice }) {
    const engine = await engines.open(choice);
    if (choice !== "auto") return { [engine.info().kind]: await engine.rate() };
    await settle();
    return engines.rates;
  },

  async describe({ setting }) {
    const set = await fits.dataset(setting.data);
    const data = set.info();
    const n = Math.min(setting.n, data.trainCount);
    return { data, n, examples: trainingPictures(set, Array(Math.min(EXAMPLES, n)).keys()) };
  },

  async denoise({ setting, split, image, sigma, seed }) {
    const { exact, set, n } = await fits.fit(setting);
    const images = imageCount(set, split, n);
    const index = image % images;
    const start = performance.now();
    const { clean, noisy, denoisers, posterior } = await exact.denoise({ data: set, split, image: index, sigma, seed });
    const elapsedMs = performance.now() - start;
    return {
      n,
      image: index,
      imageCount: images,
      clean: pictures(set, clean),
      noisy: pictures(set, noisy),
      denoisers: mapDenoisers(denoisers, (values) => ({ picture: pictures(set, values), rmse: rmse(values, clean) })),
      posterior,
      heaviest: trainingPictures(set, posterior.indices.subarray(0, HEAVIEST)),
      labels: { clean: set.label(split, index), heaviest: set.label("train", posterior.indices[0]) },
      elapsedMs,
    };
  },

  async sweep({ setting, split, image, sigmas, seed }) {
    const { exact, set, n } = await fits.fit(setting);
    const index = image % imageCount(set, split, n);
    /** @type {SweepResult} */
    const result = { sigmas, errors: {}, between: [], effective: [] };
    for (const sigma of sigmas) {
      const { clean, denoisers, posterior } = await exact.denoise({ data: set, split, image: index, sigma, seed });
      mapDenoisers(denoisers, (values, id) => (result.errors[id] ??= []).push(rmse(values, clean)));
      result.between.push(widestRmse(Object.values(denoisers)));
      result.effective.push(posterior.effective);
    }
    return result;
  },

  async path({ setting, seed, count, index }) {
    const { exact, set } = await fits.fit(setting);
    const { sigmas, denoisers } = await exact.path({ count, seed, index });
    const steps = sigmas.length - 1;
    const all = Array.from({ length: steps }, (_, i) => i);
    /** @param {Float32Array} d @param {number} i @param {Float32Array} [images] */
    const image = (d, i, images = d) => images.subarray((i * d.length) / steps, ((i + 1) * d.length) / steps);
    return {
      sigmas,
      denoisers: mapDenoisers(denoisers, ({ x, d, nearest }) => ({
        toEnd: all.map((i) => rmse(image(d, i), image(d, steps, x))),
        x: pictures(set, x),
        d: pictures(set, d),
        nearest: pictures(set, set.train(nearest.index)),
        ...nearest,
      })),
      between: all.map((i) => widestRmse(Object.values(denoisers).map(({ d }) => image(d, i)))),
    };
  },

  async samples({ setting, seed, count }) {
    const { exact, set, n } = await fits.fit(setting);
    busy("Drawing samples");
    const start = performance.now();
    const { denoisers, heldOut } = await exact.samples({ count, seed });
    const elapsedMs = performance.now() - start;
    const shown = mapDenoisers(denoisers, ({ images, nearest, ...numbers }) => ({
      images: pictures(set, images),
      nearest: trainingPictures(set, nearest),
      indices: nearest,
      ...numbers,
    }));
    return { denoisers: shown, heldOut, n, elapsedMs };
  },

  async wiener(options) {
    faces ??= Dataset.faces({ size: WIENER_SIZE, count: DATA_SETS.faces.pool, seed: 0 });
    const { rows, goal, ...numbers } = wienerDescent(faces, options);
    const scale = goal.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
    const show = (/** @type {Float32Array} */ weights) => signedPictures(faces, weights, scale);
    return { ...numbers, rows: rows.map(show), goal: show(goal) };
  },

  async randomFeatures({ setting, images }) {
    await loadEigen(useEigen);
    const model = new RandomFeatures(setting);
    try {
      model.begin(images);
      for (;;) {
        const curves = model.step();
        if (curves) return curves;
        busy(String(Math.round(100 * model.progress)));
      }
    } finally {
      model.free();
    }
  },

  async import({ files, size, colour }) {
    busy("Reading your files");
    const set = await importFiles(files, { size, colour });
    // Only now is the old set given up: a broken file costs the reader nothing.
    fits.replaceOwn(set);
    return { data: set.info() };
  },
};

/**
 * How many images the reader can choose from.
 * @param {Dataset} set
 * @param {Split} split
 * @param {number} n
 */
const imageCount = (set, split, n) => (split === "train" ? n : set.info().heldOutCount);
