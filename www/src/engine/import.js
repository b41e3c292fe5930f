/**
 * Where data sets come from. Of the reader's own files, arrays go to the Rust importers as they are, and pictures are
 * decoded by the browser first. Nothing leaves the machine.
 */
import { DATA_SETS, isPageSet } from "../state/data-sets.js";
import { fetchFile } from "./protocol.js";
import { base } from "./serve.js";

/**
 * @import { ImportOptions, Recipe as DataRecipe } from "../../pkg/hidden_gaussian.js"
 */

/**
 * @typedef {{name: string, bytes: Uint8Array}} Entry
 */

/**
 * What is needed of the library, with training or without.
 * @template D its data sets
 * @typedef {object} Library
 * @property {object} Dataset
 * @property {(options: {size: number, count: number, seed: number, heldOut?: number}) => D} Dataset.faces
 * @property {(name: string, bytes: Uint8Array, options: ImportOptions) => D} Dataset.import
 * @property {(name: string, pictures: ImageData[], options: ImportOptions) => D} Dataset.pictures
 * @property {(bytes: Uint8Array) => Entry[]} unzip the pictures of an archive
 */

const PICTURE = /\.(png|jpe?g|webp|gif|bmp|avif)$/i;
/** Longer sides are shrunk while decoding: no data set here has images larger than this. */
const MAX_SIDE = 128;
/** More pictures than this would not fit in memory on a phone. */
const MAX_PICTURES = 10_000;

/**
 * Ways to make the data sets of a worker's library.
 * @template D
 * @param {Library<D>} library
 */
export function importer({ Dataset, unzip }) {
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
    return pictures.length > 0 ? pictures : [{ name: file.name, bytes }];
  }

  return {
    /**
     * A set of the page: drawn by the engine, or fetched.
     * @param {Omit<DataRecipe, "heldOut"> & {heldOut?: number}} recipe
     * @returns {Promise<D>}
     */
    async makeDataset({ set, count, ...options }) {
      if (!isPageSet(set)) throw bad(`This page has no images called “${set}”`, "Choose one of its own sets.");
      const { file } = DATA_SETS[set];
      if (!file) return Dataset.faces({ count, ...options });
      const response = await fetchFile(new URL(file, base), `The file ${file}`);
      return Dataset.import(file, new Uint8Array(await response.arrayBuffer()), options);
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

      if (pictures.length > 0) return Dataset.pictures(nameOf(visible), await decode(pictures), options);
      if (arrays.length === 1) return Dataset.import(arrays[0].name, arrays[0].bytes, options);
      throw bad(
        `None of the ${arrays.length} files is an image`,
        "Array files (.npy, .npz, IDX, CIFAR-10 .bin) are read one at a time; images may come together.",
      );
    },
  };
}

/**
 * What to call a set of pictures: the archive or the folder that they came from.
 * @param {File[]} files
 */
function nameOf([first, ...others]) {
  if (others.length === 0) return first.name;
  return first.webkitRelativePath.split("/")[0] || "Your pictures";
}

/**
 * @param {Entry[]} entries
 * @returns {Promise<ImageData[]>}
 */
async function decode(entries) {
  if (entries.length > MAX_PICTURES) {
    throw bad(`${entries.length} images are more than the ${MAX_PICTURES} that fit`, "Choose fewer of them.");
  }
  const canvas = new OffscreenCanvas(1, 1);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw bad("This browser cannot decode images here", "Use an array file instead, such as .npy.");
  const pictures = [];
  for (const { name, bytes } of entries) {
    const bitmap = await createImageBitmap(new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)])).catch(() => {
      throw bad(`“${name}” cannot be decoded as an image`, "Remove it or save it again as PNG or JPEG.");
    });
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    canvas.width = width;
    canvas.height = height;
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, width, height);
    bitmap.close();
    pictures.push(context.getImageData(0, 0, width, height));
  }
  return pictures;
}

/**
 * @param {string} message
 * @param {string} hint
 */
function bad(message, hint) {
  return { kind: "BadInput", message, hint };
}
