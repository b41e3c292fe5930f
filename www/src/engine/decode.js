/**
 * Pictures as pixels. What the command line reads is decoded by the same code, fetched when it is first needed, so both
 * have the same pixels: browsers differ in the last bit of a JPEG. Other formats are left to the browser.
 */
import init, { decodePicture } from "../../pkg/pictures/hidden_gaussian_pictures.js";

/** @typedef {{width: number, height: number, rgba: Uint8Array}} Pixels */

/** What every platform decodes alike. */
const SAME_EVERYWHERE = /\.(png|jpe?g|webp)$/i;

/**
 * A decoder for files of these names.
 * @param {string[]} names
 * @returns {Promise<(file: {name: string, bytes: Uint8Array}) => Pixels | Promise<Pixels>>}
 */
export async function pictureDecoder(names) {
  const isOurs = (/** @type {string} */ name) => SAME_EVERYWHERE.test(name);
  if (names.some(isOurs)) {
    await init().catch(() => {
      throw {
        kind: "Network",
        message: "The library that decodes pictures could not be fetched",
        hint: "Check the connection and try again.",
      };
    });
  }
  return ({ name, bytes }) => (isOurs(name) ? decode(name, bytes) : decodeInBrowser(name, bytes));
}

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {Pixels}
 */
function decode(name, bytes) {
  try {
    const picture = decodePicture(bytes);
    const { width, height } = picture;
    const rgba = picture.rgba();
    picture.free();
    return { width, height, rgba };
  } catch {
    throw unreadable(name);
  }
}

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {Promise<Pixels>}
 */
async function decodeInBrowser(name, bytes) {
  const blob = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]);
  // The numbers in the file, not what a screen would show.
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" }).catch(() => {
    throw unreadable(name);
  });
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  if (!context) throw unreadable(name);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return { width, height, rgba: new Uint8Array(context.getImageData(0, 0, width, height).data.buffer) };
}

/** @param {string} name */
const unreadable = (name) => ({
  kind: "BadInput",
  message: `“${name}” cannot be decoded as an image`,
  hint: "Remove it or save it again as PNG or JPEG.",
});
