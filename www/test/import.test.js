import assert from "node:assert/strict";
import { test } from "node:test";

/** @import { Entry } from "../src/engine/import.js" */

// The module is one of workers, which have this name for themselves.
Object.assign(globalThis, { self: globalThis });
const { importer } = await import("../src/engine/import.js");

/** Reads files with a library that says what it was given. @param {Entry[]} [pictures] of every archive */
function reader(pictures = []) {
  const Dataset = {
    faces: () => "faces",
    import: (/** @type {string} */ name, /** @type {Uint8Array} */ bytes) => `${name}: ${bytes}`,
  };
  class PictureSet {
    push() {}
    finish() {
      return "pictures";
    }
    free() {}
  }
  const { importFiles } = importer({ Dataset, PictureSet, unzip: () => pictures });
  return (/** @type {string[]} */ ...names) =>
    importFiles(
      names.map((name) => new File([new Uint8Array([1, 2])], name)),
      { size: 8, colour: false },
    );
}

test("an archive without pictures goes to the importer of arrays as it is", async () => {
  const read = reader();
  assert.equal(await read("mnist.zip"), "mnist.zip: 1,2");
  assert.equal(await read("mnist.npz"), "mnist.npz: 1,2");
  const hidden = reader([{ name: "__MACOSX/._1.png", bytes: new Uint8Array() }]);
  assert.equal(await hidden("mnist.zip"), "mnist.zip: 1,2");
});

test("of several files none may be an array", async () => {
  await assert.rejects(reader()("one.zip", "two.npy"), {
    kind: "BadInput",
    message: "None of the 2 files is an image",
  });
  await assert.rejects(reader()(".hidden"), { kind: "BadInput" });
});
