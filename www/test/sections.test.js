import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expandSections, toMathml } from "../build/sections.js";
import { DENOISERS, FITTED } from "../src/reports/denoisers.js";
import { dataOf } from "../src/runs/offers.js";
import { defaults } from "../src/state/parameters.js";

const page = expandSections(readFileSync(new URL("../index.html", import.meta.url), "utf8"));

test("formulas become MathML without styles, which the page's policy forbids", () => {
  assert.equal(toMathml("D_M", false), "<math><msub><mi>D</mi><mi>M</mi></msub></math>");
  assert.match(toMathml("\\dot{σ}\\,\\log p", true), /^<math display="block">.*<mi mathvariant="normal">log<\/mi>/);
  assert.match(toMathml("\\normal(0,I)", false), /class="operator"><mi mathvariant="normal">N</);
  assert.throws(() => toMathml("\\nonsense", false));
  assert.doesNotMatch(page, /\sstyle="/);
  assert.doesNotMatch(page, /\$|\\\[|<!-- (include|each|end)/);
});

test("what belongs to a denoiser is there for every one of the table", () => {
  for (const { id } of FITTED) {
    for (const name of [id, `strip-${id}`, `${id}-grid`, `${id}-nearest-grid`]) {
      assert.ok(page.includes(`data-part="${name}"`), name);
    }
  }
  for (const { id } of DENOISERS) assert.ok(page.includes(`data-part="path-${id}"`), id);
});

test("a line does not end between a formula and the comma behind it", () => {
  assert.match(page, /<span class="unbroken"><math>.*?<\/math>,<\/span>/);
});

test("Section II opens on photographs, and each that follows says that it opens on faces", () => {
  const values = defaults();
  assert.equal(dataOf(values["transition.run"]), "cifar10");
  const sections = page.split(/<h2 id="section-/);
  for (const [section, key] of /** @type {const} */ ([
    [3, "bias.run"],
    [4, "emergence.run"],
    [5, "league.run"],
  ])) {
    assert.equal(dataOf(values[key]), "faces");
    const opening = sections.find((text) => text.startsWith(`${section}"`))?.split("<figure")[0] ?? "";
    assert.match(opening.replace(/\s+/g, " "), /opens? on (drawn )?faces.*CIFAR-10/, `Section ${section}`);
  }
});
