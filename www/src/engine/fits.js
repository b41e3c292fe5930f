/** The data set and the fit that a worker used last: neighbouring calls are nearly always about the same ones. */
import { Exact, useEigen } from "../../pkg/exact/hidden_gaussian.js";
import { DATA_SETS } from "../state/data-sets.js";
import { prepareFor } from "./eigen.js";
import { savedFit, saveFit } from "./saved-fits.js";

/**
 * @import { Dataset, Engine } from "../../pkg/exact/hidden_gaussian.js"
 * @import { DataName } from "../state/parameters.js"
 * @import { EngineHolder } from "./engine-holder.js"
 * @import { importer } from "./import.js"
 * @import { Setting } from "./protocol.js"
 */

/** Images of at most so many numbers are fitted in a moment. */
const QUICK_VALUES = 1024;

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

export class Fits {
  /** @type {{name: DataName, set: Dataset} | undefined} */
  #loaded;
  /** The reader's own images, kept while another set is on the screen. @type {Dataset | undefined} */
  #own;
  /** @type {{engine: Engine, set: Dataset, n: number, exact: Exact} | undefined} */
  #fitted;
  /** The last D_G that took long to fit, for the same images on another engine. @type {{key: string, bytes: Uint8Array<ArrayBuffer>} | undefined} */
  #gaussian;
  #engines;
  #makeDataset;
  #busy;

  /**
   * @param {Pick<EngineHolder, "open">} engines
   * @param {ReturnType<typeof importer<Dataset>>["makeDataset"]} makeDataset
   * @param {(text: string, fraction?: number) => void} busy
   */
  constructor(engines, makeDataset, busy) {
    this.#engines = engines;
    this.#makeDataset = makeDataset;
    this.#busy = busy;
  }

  /** What is fitted now, if anything is. */
  get current() {
    return this.#fitted;
  }

  /** The data set of this name, made or fetched when it is first asked for. @param {DataName} name */
  async dataset(name) {
    if (this.#loaded?.name === name) return this.#loaded.set;
    const set = name === "own" ? this.#own : await this.#drawOrFetch(name);
    if (!set) {
      throw { kind: "BadInput", message: "Your own images are no longer loaded", hint: "Choose the files again." };
    }
    if (this.#loaded && this.#loaded.set !== this.#own) {
      if (this.#fitted?.set === this.#loaded.set) this.close();
      this.#loaded.set.free();
    }
    this.#loaded = { name, set };
    return set;
  }

  /** @param {Exclude<DataName, "own">} name */
  #drawOrFetch(name) {
    const { title, size, file, pool, heldOut } = DATA_SETS[name];
    this.#busy(file ? "Fetching the data" : "Drawing the training images");
    return this.#makeDataset({ set: name, size, count: pool, seed: 0, heldOut }, (got, bytes) =>
      this.#busy(`Fetching ${title}: ${megabytes(got)} of ${megabytes(bytes)} MB`, got / bytes),
    );
  }

  /** From now on these are the reader's own images. @param {Dataset} set */
  replaceOwn(set) {
    if (this.#fitted?.set === this.#own) this.close();
    if (this.#loaded?.set === this.#own) this.#loaded = undefined;
    this.#own?.free();
    this.#own = set;
  }

  /** The denoisers, fitted to the first `n` training images. @param {Setting} setting */
  async fit({ data, engine: choice, n: wanted }) {
    const set = await this.dataset(data);
    const engine = await this.#engines.open(choice);
    const n = Math.min(wanted, set.info().trainCount);
    const fitted = this.#fitted;
    if (fitted && fitted.engine === engine && fitted.set === set && fitted.n === n) return fitted;
    return this.fitOn(engine, set, n);
  }

  /**
   * @param {Engine} engine
   * @param {Dataset} set
   * @param {number} n
   */
  async fitOn(engine, set, n) {
    this.close();
    this.#busy("Fitting the denoisers");
    const { width, height, channels, hash } = set.info();
    const long = width * height * channels > QUICK_VALUES;
    const key = `${hash}-${n}`;
    const known = long ? await this.#known(key) : undefined;
    const onProgress = long
      ? (/** @type {number} */ fraction) => this.#busy("Fitting the Gaussian denoiser", fraction)
      : undefined;
    const fit = async () => {
      await prepareFor(useEigen, { width, height, channels });
      return Exact.fit(engine, set, n, onProgress);
    };
    // Perhaps what was saved is not what this version reads.
    const exact = known ? await Exact.fit(engine, set, n, onProgress, known).catch(fit) : await fit();
    if (long && !known) await this.#keep(key, exact.gaussian());
    return (this.#fitted = { engine, set, n, exact });
  }

  /** A fit of D_G that was kept. @param {string} key */
  async #known(key) {
    if (this.#gaussian?.key !== key) {
      const bytes = await savedFit(key);
      if (bytes) this.#gaussian = { key, bytes };
    }
    return this.#gaussian?.key === key ? this.#gaussian.bytes : undefined;
  }

  /** @param {string} key @param {Uint8Array | undefined} bytes */
  async #keep(key, bytes) {
    if (!bytes) return;
    const copy = new Uint8Array(bytes);
    this.#gaussian = { key, bytes: copy };
    await saveFit(key, copy);
  }

  /** Give up the fit, if there is one. */
  close() {
    this.#fitted?.exact.free();
    this.#fitted = undefined;
  }
}
