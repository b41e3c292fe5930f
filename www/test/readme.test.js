import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const file = (/** @type {string} */ path) => new URL(`../../${path}`, import.meta.url);
const [readme, example, notes] = await Promise.all(
  ["README.md", "tests/api/example.js", "www/sections/notes.html"].map((path) => readFile(file(path), "utf8")),
);

test("the README quotes the example of the API as it is tested", () => {
  assert.ok(readme.includes(`\`\`\`js\n${example}\`\`\``));
  assert.ok(example.split("\n").filter((line) => line && !line.startsWith("/**")).length <= 17);
});

test("the README and the page give the same citation", () => {
  const entry = /@inproceedings\{[\s\S]*?\n\}/.exec(readme)?.[0];
  assert.ok(entry && notes.includes(entry));
});

test("the example of the API runs", { timeout: 300_000 }, async (context) => {
  // Node has no fetch for files.
  context.mock.method(globalThis, "fetch", async (/** @type {URL} */ address) => {
    const bytes = await readFile(fileURLToPath(address));
    return new Response(bytes, { headers: { "content-type": "application/wasm" } });
  });
  /** @type {string[]} */
  const said = [];
  context.mock.method(console, "log", (/** @type {string} */ line) => said.push(line));
  const source = example.replaceAll("./pkg/", file("www/pkg/").href);
  await import(`data:text/javascript,${encodeURIComponent(source)}`);

  const [few, many] = said.map((line) => line.match(/[\d.]+/g)?.map(Number) ?? []);
  assert.equal(few[0], 16);
  assert.equal(many[0], 512);
  assert.ok(few[2] < many[2], `the network of many images is the more Gaussian one: ${said.join("; ")}`);
});
