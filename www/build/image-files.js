/** Image files: those of recorded runs come in, those of the article that is drawn go out. */
import jpeg from "jpeg-js";
import { PNG } from "pngjs";

/** The first bytes of a JPEG file. */
const JPEG = [0xff, 0xd8];

/**
 * @param {Buffer} bytes of a PNG or JPEG file
 * @returns {{width: number, height: number, data: Uint8ClampedArray<ArrayBuffer>}} RGBA
 */
export function decodeImage(bytes) {
  const isJpeg = JPEG.every((byte, i) => bytes[i] === byte);
  const { width, height, data } = isJpeg ? jpeg.decode(bytes, { useTArray: true }) : PNG.sync.read(bytes);
  return { width, height, data: new Uint8ClampedArray(data) };
}

/** Of JPEG, from 1 to 100. */
const QUALITY = 88;

/**
 * As a PNG file, or as a JPEG file where that is smaller: photographs are. There, what is transparent is white.
 * @param {number} width
 * @param {number} height
 * @param {Uint8ClampedArray} rgba
 * @returns {{ending: "png" | "jpg", bytes: Buffer}}
 */
export function encodeImage(width, height, rgba) {
  const png = encodePng(width, height, rgba);
  if (rgba.some((value, i) => i % 4 === 3 && value > 0 && value < 255)) return { ending: "png", bytes: png };
  const opaque = Buffer.from(rgba);
  for (let i = 0; i < rgba.length; i += 4) if (rgba[i + 3] === 0) opaque.fill(255, i, i + 4);
  const { data } = jpeg.encode({ width, height, data: opaque }, QUALITY);
  return data.length < png.length ? { ending: "jpg", bytes: Buffer.from(data) } : { ending: "png", bytes: png };
}

/**
 * @param {number} width
 * @param {number} height
 * @param {Uint8ClampedArray} rgba
 */
export function encodePng(width, height, rgba) {
  // Most pictures are grey, and few are transparent.
  const all = (/** @type {(i: number) => boolean} */ holds) => {
    for (let i = 0; i < rgba.length; i += 4) if (!holds(i)) return false;
    return true;
  };
  const isGrey = all((i) => rgba[i] === rgba[i + 1] && rgba[i] === rgba[i + 2]);
  const isOpaque = all((i) => rgba[i + 3] === 255);
  const colorType = /** @type {0 | 2 | 4 | 6} */ ((isGrey ? 0 : 2) + (isOpaque ? 0 : 4));
  const image = Object.assign(new PNG({ width, height }), { data: Buffer.from(rgba.buffer) });
  return PNG.sync.write(image, { colorType, inputColorType: 6, inputHasAlpha: true, deflateLevel: 9 });
}
