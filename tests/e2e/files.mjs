// Files of images, in the formats that readers have.

import { crc32 } from "node:zlib";

/**
 * Bright discs at places of their own, one byte per pixel.
 * @param {number} count
 * @param {number} side
 */
export function discs(count, side) {
  const pixels = new Uint8Array(count * side * side);
  for (let i = 0; i < count; i++) {
    const [cx, cy] = [side * (0.5 + 0.4 * Math.sin(7 * i)), side * (0.5 + 0.4 * Math.cos(11 * i))];
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        pixels[(i * side + y) * side + x] = 255 * Math.exp(-((x - cx) ** 2 + (y - cy) ** 2) / side);
      }
    }
  }
  return pixels;
}

/**
 * A NumPy file of {@link discs}, count × side × side.
 * @param {number} count
 * @param {number} side
 */
export function npy(count, side) {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${count}, ${side}, ${side}), }`;
  const header = `${text.padEnd(128 - 10 - 1)}\n`;
  const start = [0x93, ...Buffer.from("NUMPY"), 1, 0, header.length & 255, header.length >> 8];
  return new Uint8Array(Buffer.concat([Buffer.from(start), Buffer.from(header), discs(count, side)]));
}

/**
 * An IDX file of {@link discs}, as MNIST comes.
 * @param {number} count
 * @param {number} side
 */
export function idx(count, side) {
  const header = Buffer.from([0, 0, 8, 3, ...new Uint8Array(12)]);
  [count, side, side].forEach((length, i) => header.writeUInt32BE(length, 4 + 4 * i));
  return new Uint8Array(Buffer.concat([header, discs(count, side)]));
}

/**
 * A batch of CIFAR-10: records of a label and three planes of 32 × 32.
 * @param {number} count
 */
export function cifar(count) {
  const plane = 32 * 32;
  const pixels = discs(3 * count, 32);
  const records = new Uint8Array(count * (1 + 3 * plane));
  for (let i = 0; i < count; i++) {
    const record = i * (1 + 3 * plane);
    records[record] = i % 10;
    records.set(pixels.subarray(3 * i * plane, 3 * (i + 1) * plane), record + 1);
  }
  return records;
}

/**
 * A zip archive, nothing compressed.
 * @param {{name: string, bytes: Uint8Array}[]} entries
 */
export function zip(entries) {
  const local = [];
  const central = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const title = Buffer.from(name);
    // Version, flags, method, time and date, checksum, both sizes, length of the name, no extra field.
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(bytes.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(title.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    local.push(Buffer.from("PK\x03\x04"), facts, title, bytes);
    central.push(Buffer.from("PK\x01\x02\x14\x00"), facts, place, title);
    offset += 4 + facts.length + title.length + bytes.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return new Uint8Array(Buffer.concat([...local, directory, Buffer.from("PK\x05\x06"), end]));
}
