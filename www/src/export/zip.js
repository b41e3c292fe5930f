/** Zip archives as the page writes and reads them: one volume, below 4 GB, deflated by the browser. */

/** @typedef {{name: string, bytes: Uint8Array<ArrayBuffer>}} Entry */

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_LENGTH = 22;
const STORED = 0;
const DEFLATED = 8;
/** Names are UTF-8. */
const FLAGS = 0x0800;

/**
 * @param {Entry[]} entries
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function writeZip(entries) {
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const files = [];
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const directory = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const title = new TextEncoder().encode(name);
    const packed = await through(new CompressionStream("deflate-raw"), bytes);
    // The version that can read it, flags, method, time and date (1 January 1980), checksum, both sizes, both lengths.
    const facts = [
      [20, 2],
      [FLAGS, 2],
      [DEFLATED, 2],
      [0, 2],
      [33, 2],
      [crc32(bytes), 4],
      [packed.length, 4],
      [bytes.length, 4],
      [title.length, 2],
      [0, 2],
    ];
    files.push(record([[LOCAL, 4], ...facts]), title, packed);
    directory.push(record([[CENTRAL, 4], [20, 2], ...facts, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]]), title);
    offset += 30 + title.length + packed.length;
  }
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  const number = entries.length;
  const end = record([
    [END, 4],
    [0, 2],
    [0, 2],
    [number, 2],
    [number, 2],
    [length, 4],
    [offset, 4],
    [0, 2],
  ]);
  return new Uint8Array(await new Blob([...files, ...directory, end]).arrayBuffer());
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<Entry[]>}
 */
export async function readZip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = bytes.length - END_LENGTH;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  try {
    if (end < 0) throw new RangeError();
    const entries = [];
    let at = view.getUint32(end + 16, true);
    for (let left = view.getUint16(end + 10, true); left > 0; left--) {
      if (view.getUint32(at, true) !== CENTRAL) throw new RangeError();
      const method = view.getUint16(at + 10, true);
      const size = view.getUint32(at + 20, true);
      const nameLength = view.getUint16(at + 28, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
      const file = view.getUint32(at + 42, true);
      const start = file + 30 + view.getUint16(file + 26, true) + view.getUint16(file + 28, true);
      const packed = bytes.slice(start, start + size);
      if (method !== STORED && method !== DEFLATED) throw new RangeError();
      const whole = method === STORED ? packed : await through(new DecompressionStream("deflate-raw"), packed);
      if (crc32(whole) !== view.getUint32(at + 16, true)) throw new RangeError();
      entries.push({ name, bytes: whole });
      at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return entries;
  } catch {
    throw { kind: "BadInput", message: "This zip archive is damaged", hint: "Save or download it again." };
  }
}

/**
 * @param {GenericTransformStream} stream
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Little-endian numbers of these lengths, one after the other. @param {number[][]} fields */
function record(fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, length]) => sum + length, 0)));
  let at = 0;
  for (const [value, length] of fields) {
    if (length === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += length;
  }
  return new Uint8Array(view.buffer);
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 as zip wants it. @param {Uint8Array} bytes */
export function crc32(bytes) {
  let value = -1;
  for (const byte of bytes) value = CRC[(value ^ byte) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}
