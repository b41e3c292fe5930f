import assert from "node:assert/strict";
import { test } from "node:test";

/** @import { Entry } from "../src/engine/import.js" */

// The module is one of workers, which have this name for themselves.
Object.assign(globalThis, { self: globalThis });
const { importer } = await import("../src/engine/import.js");
const { serve } = await import("../src/engine/serve.js");

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

/** Fetches a set of a page that has these files. @param {Record<string, string | object>} files */
function fetcher(files) {
  const { makeDataset } = importer({
    Dataset: {
      faces: () => "faces",
      import: (/** @type {string} */ name, /** @type {Uint8Array} */ bytes) => `${name}: ${bytes.length}`,
    },
    PictureSet: class {
      push() {}
      finish = () => "pictures";
      free() {}
    },
    unzip: () => [],
  });
  serve(Promise.resolve(), async () => null);
  /** @type {any} */ (globalThis).onmessage({ data: { kind: "start", base: "https://host.test/sub/" } });
  globalThis.fetch = async (address) => {
    const found = files[String(address).replace("https://host.test/sub/", "")];
    return found === undefined
      ? new Response("", { status: 404 })
      : new Response(typeof found === "string" ? found : JSON.stringify(found));
  };
  /** @type {number[]} */
  const told = [];
  const options = { size: 32, count: 0, seed: 0 };
  return {
    told,
    make: (/** @type {string} */ set) => makeDataset({ set, ...options }, (got, bytes) => told.push(got / bytes)),
  };
}

test("a set is fetched with progress, if the build has it", async () => {
  const { make, told } = fetcher({
    "data/index.json": { cifar10: { bytes: 9 }, mnist: { bytes: 9 }, patches: { bytes: 4 } },
    "data/cifar10.bin": "123456789",
    "data/mnist.bin": "1234",
    "data/patches.bin": "123456789",
  });
  assert.equal(await make("cifar10"), "data/cifar10.bin: 9");
  assert.equal(told.at(-1), 1);
  // Too short and too long.
  await assert.rejects(make("mnist"), { kind: "Network" });
  await assert.rejects(make("patches"), { kind: "Network" });
  await assert.rejects(make("fashion"), { kind: "Missing", message: /Fashion-MNIST/ });
  await assert.rejects(make("cats"), { kind: "BadInput" });
  assert.equal(await make("faces"), "faces");
});
