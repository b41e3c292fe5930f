// Figure 0: the two denoisers of a few points in the plane.

import assert from "node:assert/strict";
import { siteTest } from "./harness.mjs";
import { live, number, open, slider, until } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** The training points in one of the planes. @param {Page} page @param {"empirical" | "gaussian"} plane */
const points = (page, plane = "empirical") => page.locator(`#toy [data-part="${plane}"] .toy-points circle`);

/** Where a point stands. @param {Page} page @param {number} index @param {"empirical" | "gaussian"} [plane] */
const placeOf = (page, index, plane) =>
  points(page, plane)
    .nth(index)
    .evaluate((circle) => [Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy"))]);

/** The middle of a point on the screen. @param {Page} page @param {number} index */
async function middle(page, index) {
  const box = await points(page).nth(index).boundingBox();
  assert.ok(box);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

siteTest(
  "all paths of D_M end at training points, those of D_G do not",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    await open(page, "", "toy");
    assert.equal(await number(page, "toy.copies.empirical"), await number(page, "toy.paths"));
    assert.ok((await number(page, "toy.copies.gaussian")) <= 1);
    for (const claim of ["copies", "new"])
      await page.locator(`[data-claim="toy.${claim}"][data-verdict="holds"]`).waitFor();
  },
);

siteTest("a dragged point moves in both planes, and the address keeps it", { webgpu: [false] }, async (page) => {
  await open(page, "", "toy");
  const before = await placeOf(page, 0);
  const { x, y } = await middle(page, 0);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 30, y - 40, { steps: 4 });
  await page.mouse.up();
  const after = await placeOf(page, 0);
  assert.ok(after[0] > before[0] && after[1] < before[1], `${before} to ${after}`);
  assert.deepEqual(await placeOf(page, 0, "gaussian"), after);
  assert.equal(await points(page).count(), 5);
  await page.waitForFunction(() => location.search.includes("toy.points="));
  await page.reload();
  await open(page, new URL(page.url()).search, "toy");
  assert.deepEqual(await placeOf(page, 0), after);
});

siteTest(
  "a stroke draws points, a click adds one, a double click removes one, and all come back",
  { webgpu: [false] },
  async (page) => {
    await open(page, "", "toy");
    const plane = page.locator('#toy [data-part="gaussian"] .toy-svg');
    const box = await plane.boundingBox();
    assert.ok(box);
    const at = (/** @type {number} */ u, /** @type {number} */ v) =>
      /** @type {const} */ ([box.x + u * box.width, box.y + v * box.height]);
    await page.mouse.click(...at(0.1, 0.1));
    assert.equal(await points(page).count(), 6);
    assert.equal(await number(page, "toy.points"), 6);

    await page.mouse.move(...at(0.1, 0.9));
    await page.mouse.down();
    await page.mouse.move(...at(0.6, 0.9), { steps: 30 });
    await page.mouse.up();
    const drawn = await points(page).count();
    assert.ok(drawn > 10, `${drawn} points`);
    assert.equal(await number(page, "toy.copies.empirical"), await number(page, "toy.paths"));

    const { x, y } = await middle(page, 0);
    await page.mouse.dblclick(x, y);
    assert.equal(await points(page).count(), drawn - 1);
    await page.locator('#toy [data-part="reset"]').click();
    assert.equal(await points(page).count(), 5);
  },
);

siteTest("points move by the arrow keys and go by Delete; the slider changes σ", { webgpu: [false] }, async (page) => {
  await open(page, "", "toy");
  await points(page).nth(1).focus();
  const before = await placeOf(page, 1);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowUp");
  const after = await placeOf(page, 1);
  assert.ok(after[0] > before[0] && before[1] - after[1] > after[0] - before[0], `${before} to ${after}`);
  assert.match((await points(page).nth(1).getAttribute("aria-label")) ?? "", /-?\d\.\d\d/);
  await page.keyboard.press("Delete");
  assert.equal(await live(page, "toy.points"), "4");

  const arrows = () => page.locator('#toy [data-part="empirical"] .toy-arrows path').getAttribute("d");
  const high = await arrows();
  await slider(page, "toy.sigma").press("Home");
  await until("other arrows are drawn", async () => (await arrows()) !== high);
  // Under reduced motion the noise falls in one step.
  const lowest = await slider(page, "toy.sigma").inputValue();
  await page.locator('#toy [data-part="play"]').click();
  await until("the noise has fallen", async () => (await slider(page, "toy.sigma").inputValue()) !== lowest);
});

siteTest(
  "a finger drags a point without scrolling the page, and a tap adds one",
  { webgpu: [false], widths: [390], context: { hasTouch: true, isMobile: true } },
  async (page) => {
    await open(page, "", "toy");
    const box = await points(page).first().boundingBox();
    assert.ok(box);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const scrolled = await page.evaluate(() => scrollY);
    const devtools = await page.context().newCDPSession(page);
    const touch = (/** @type {"touchStart" | "touchMove" | "touchEnd"} */ type, by = 0) =>
      devtools.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x: x + 8, y: y + by }],
      });
    // Beside the point, but within what a finger covers.
    await touch("touchStart");
    for (let by = 10; by <= 60; by += 10) await touch("touchMove", by);
    await touch("touchEnd");
    const moved = await points(page).first().boundingBox();
    assert.ok(moved && Math.abs(moved.y - box.y - 60) < 8, `${moved?.y} after ${box.y}`);
    assert.equal(await page.evaluate(() => scrollY), scrolled);
    assert.equal(await live(page, "toy.points"), "5");

    const plane = await page.locator('#toy [data-part="empirical"]').boundingBox();
    assert.ok(plane);
    await page.touchscreen.tap(plane.x + 0.07 * plane.width, plane.y + 0.93 * plane.height);
    await until("a point is added", async () => (await live(page, "toy.points")) === "6");
  },
);
