/**
 * Where data sets come from. Of the reader's own files, arrays go to the Rust importers as they are, and pictures are
 * decoded first. Nothing leaves the machine.
 */
import { DATA_SETS, isPageSet } from "../state/data-sets.js";
import { pictureDecoder } from "./decode.js";
import { fetchFile } from "./protocol.js";
import { base } from "./serve.js";

/**
 * @import { ImportOptions, Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 * @import { PageSet } from "../state/data-sets.js"
 */

/**
 * @typedef {{name: string, bytes: Uint8Array}} Entry
 */

/**
 * A set in the making.
 * @template D
 * @typedef {object} SetBuilder
 * @property {(width: number, height: number, rgba: Uint8Array) => void} push
 * @property {() => D} finish
 * @property {() => void} free
 */

/**
 * What is needed of the library, with training or without.
 * @template D its data sets
 * @typedef {object} Library
 * @property {object} Dataset
 * @property {(options: {size: number, count: number, seed: number, heldOut?: number}) => D} Dataset.faces
 * @property {(name: string, bytes: Uint8Array, options: ImportOptions) => D} Dataset.import
 * @property {new (name: string, options: ImportOptions) => SetBuilder<D>} PictureSet
 * @property {(bytes: Uint8Array) => Entry[]} unzip the pictures of an archive
 */

const PICTURE = /\.(png|jpe?g|webp|gif|bmp|avif)$/i;
/** More pictures than this would not fit in memory on a phone. */
const MAX_PICTURES = 10_000;

/**
 * Ways to make the data sets of a worker's library.
 * @template D
 * @param {Library<D>} library
 */
export function importer({ Dataset, PictureSet, unzip }) {
  /**
   * The file itself, or the pictures that a zip archive holds. One of arrays, such as .npz, goes to its importer whole.
   * @param {File} file
   * @returns {Promise<Entry[]>}
   */
  async function open(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const pictures = /\.zip$/i.test(file.name)
      ? unzip(bytes).filter(({ name }) => !/(^|\/)(\.|__MACOSX\/)/.test(name))
      : [];
    return pictures.length > 0 ? pictures : [{ name: file.webkitRelativePath || file.name, bytes }];
  }

  return {
    /**
     * A set of the page: drawn by the engine, or fetched.
     * @param {Omit<DataRecipe, "heldOut"> & {heldOut?: number}} recipe
     * @param {(got: number, bytes: number) => void} [progress] told how much of the file is here
     * @returns {Promise<D>}
     */
    async makeDataset({ set, count, size, seed, heldOut, channels, crop, class: label }, progress = () => {}) {
      if (!isPageSet(set)) throw bad(`This page has no images called “${set}”`, "Choose one of its own sets.");
      const { file } = DATA_SETS[set];
      if (!file) return Dataset.faces({ size, count, seed, heldOut });
      const options = { size, seed, heldOut, channels, crop, class: label ?? undefined };
      return Dataset.import(file, await download(set, file, progress), options);
    },

    /**
     * The reader's own images.
     * @param {File[]} files
     * @param {{size: number, colour: boolean, seed?: number, heldOut?: number}} options
     * @returns {Promise<D>}
     */
    async importFiles(files, options) {
      const visible = files.filter(({ name }) => !name.startsWith("."));
      if (visible.length === 0)
        throw bad("There is no file in what was dropped", "Drop images, a folder of images, or one array file.");

      const entries = [];
      for (const file of visible) entries.push(...(await open(file)));
      const pictures = entries.filter(({ name }) => PICTURE.test(name));
      const arrays = entries.filter(({ name }) => !PICTURE.test(name));

      if (pictures.length > 0) return decode(new PictureSet(nameOf(visible), options), pictures);
      if (arrays.length === 1) return Dataset.import(arrays[0].name, arrays[0].bytes, options);
      throw bad(
        `None of the ${arrays.length} files is an image`,
        "Array files (.npy, .npz, IDX, CIFAR-10 .bin) are read one at a time; images may come together.",
      );
    },
  };
}

/**
 * The file of a set, if this build of the page has it: a set that could not be had when the page was built is left out.
 * @param {PageSet} set
 * @param {string} file
 * @param {(got: number, bytes: number) => void} progress
 */
async function download(set, file, progress) {
  const index = await fetchFile(new URL("data/index.json", base), "The list of data sets");
  /** @type {Partial<Record<PageSet, {bytes: number}>>} */
  const sets = await index.json();
  const known = sets[set];
  if (!known) {
    throw {
      kind: "Missing",
      message: `This build of the page does not have ${DATA_SETS[set].title}`,
      hint: "Choose another set, or build the page where the set can be downloaded.",
    };
  }
  const { body } = await fetchFile(new URL(file, base), `The file ${file}`);
  const bytes = new Uint8Array(known.bytes);
  let got = 0;
  for await (const part of chunks(body)) {
    if (got + part.length > bytes.length) throw cut(file);
    bytes.set(part, got);
    got += part.length;
    progress(got, bytes.length);
  }
  if (got < bytes.length) throw cut(file);
  return bytes;
}

/**
 * What a response brings, piece by piece. (Not every browser can iterate over a stream itself.)
 * @param {ReadableStream<Uint8Array> | null} body
 */
async function* chunks(body) {
  const reader = body?.getReader();
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) yield piece.value;
}

/** @param {string} file */
const cut = (file) => ({
  kind: "Network",
  message: `The file ${file} did not arrive whole`,
  hint: "Try again, or reload the page.",
});

/**
 * What to call a set of pictures: the archive or the folder that they came from.
 * @param {File[]} files
 */
function nameOf([first, ...others]) {
  if (others.length === 0) return first.name;
  return first.webkitRelativePath.split("/")[0] || "Your pictures";
}

/**
 * Decodes pictures into a set, in the order of their names, one at a time and at full size: the library makes them
 * smaller, the same way as on the command line.
 * @template D
 * @param {SetBuilder<D>} set
 * @param {Entry[]} entries
 * @returns {Promise<D>}
 */
async function decode(set, entries) {
  if (entries.length > MAX_PICTURES) {
    throw bad(`${entries.length} images are more than the ${MAX_PICTURES} that fit`, "Choose fewer of them.");
  }
  const byName = [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
  try {
    const decoded = await pictureDecoder(byName.map(({ name }) => name));
    for (const entry of byName) {
      const { width, height, rgba } = await decoded(entry);
      set.push(width, height, rgba);
    }
  } catch (error) {
    set.free();
    throw error;
  }
  return set.finish();
}

/**
 * @param {string} message
 * @param {string} hint
 */
function bad(message, hint) {
  return { kind: "BadInput", message, hint };
}
