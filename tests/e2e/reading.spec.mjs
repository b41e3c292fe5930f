// Reading: widths, themes, keyboard, assistive technology, security policy.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { live, open, ready, violations } from "./page.mjs";

for (const width of [390, 768, 1280, 2560]) {
  siteTest(
    `nothing sticks out at ${width} px`,
    { webgpu: [false], context: { viewport: { width, height: 844 } } },
    async (page) => {
      await open(page);
      await ready(page, "samples");
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px wide`);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("button, input:not([hidden]), .segments")]
          .filter((element) => element.checkVisibility())
          .filter(
            (element) =>
              element.getBoundingClientRect().right > innerWidth + 1 || element.getBoundingClientRect().left < -1,
          )
          .map((element) => element.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(cut, []);
    },
  );
}

for (const width of [390, 1280]) {
  siteTest(
    `nothing moves when pictures and numbers arrive, ${width} px`,
    { webgpu: [false], context: { viewport: { width, height: 844 } } },
    async (page) => {
      await page.addInitScript(() => {
        const scope = /** @type {any} */ (globalThis);
        scope.shift = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) scope.shift += /** @type {any} */ (entry).value;
        }).observe({ type: "layout-shift", buffered: true });
      });
      // So late that the reader sees the place before the picture.
      await page.route("**/runs/*.json", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        await route.continue();
      });
      await page.goto(siteUrl);
      for (let top = -1, next = 0; next > top; ) {
        await page.waitForFunction(() =>
          [...document.querySelectorAll("figure.figure")].every((figure) => {
            const { top, bottom } = figure.getBoundingClientRect();
            return bottom < 0 || top > innerHeight || figure.matches("[data-ready]:not([aria-busy='true'])");
          }),
        );
        // What is drawn now is told a frame later.
        await page.waitForTimeout(100);
        top = next;
        next = await page.evaluate(() => {
          scrollBy({ top: innerHeight, behavior: "instant" });
          return scrollY;
        });
      }
      // The sum over the whole page; up to 0.1 in any five seconds is called good.
      const shift = await page.evaluate(() => /** @type {any} */ (globalThis).shift);
      assert.ok(shift < 0.02, `${shift}`);
    },
  );
}

siteTest("a link to a figure leads to it, however far down it is", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}#agreement`);
  await page.locator("#agreement[data-ready]").waitFor();
  const top = await page.locator("#agreement").evaluate((figure) => figure.getBoundingClientRect().top);
  assert.ok(Math.abs(top) < 50, `${top}`);
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  for (const width of [390, 1280]) {
    siteTest(
      `axe finds nothing, ${colorScheme}, ${width} px`,
      { webgpu: [false], context: { colorScheme, viewport: { width, height: 844 } } },
      async (page) => {
        await open(page);
        await ready(page, "trajectory");
        await ready(page, "samples");
        await page.locator("#engine").click();
        assert.deepEqual(await violations(page), []);
      },
    );
  }
}

siteTest(
  "the theme follows the system until the reader chooses, and the choice stays",
  { webgpu: [false], context: { colorScheme: "dark" } },
  async (page) => {
    await open(page);
    const brightness = () =>
      page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)?.[0]));
    assert.ok((await brightness()) < 60);
    await page.locator("#theme").click();
    assert.ok((await brightness()) > 200);
    await page.reload();
    assert.ok((await brightness()) > 200);
  },
);

siteTest("everything can be reached and moved by the keyboard", { webgpu: [false] }, async (page) => {
  await open(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the article");
  const wanted = new Set([
    "engine",
    "theme",
    "denoise.sigma",
    "denoise.split",
    "denoise.seed",
    "data",
    "n",
    "choose-files",
    "choose-folder",
    "trajectory.step",
    "samples.pick",
    "samples.seed",
    "transition.run",
    "transition sigma",
    "transition panel",
  ]);
  for (let i = 0; i < 300 && wanted.size > 0; i++) {
    await page.keyboard.press("Tab");
    const reached = await page.evaluate(() => {
      const active = document.activeElement;
      const part = active?.closest("[data-part]");
      return [
        active?.closest("[data-control]")?.getAttribute("data-control"),
        active?.getAttribute("data-new-seed"),
        active?.id,
        part?.getAttribute("data-part"),
        `${part?.closest("figure")?.id} ${part?.getAttribute("data-part")}`,
      ];
    });
    for (const name of reached) wanted.delete(name ?? "");
  }
  assert.deepEqual([...wanted], []);

  await page.locator('[data-control="denoise.sigma"] input').focus();
  const outline = await page.evaluate(
    () => getComputedStyle(/** @type {Element} */ (document.activeElement)).outlineStyle,
  );
  assert.equal(outline, "solid");
  // Tabbing brought many figures near the screen. On a busy machine one of them, or the comparison of the engines, may end
  // only now, and the latest announcement wins.
  await page.locator("#engine[data-engine]:not([data-busy])").waitFor();
  await page.waitForFunction(() => !document.querySelector('main [aria-busy="true"]'));
  const before = await live(page, "denoise.sigma");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(
    (old) => document.querySelector('[data-live="denoise.sigma"]')?.textContent !== old,
    before,
  );
  // Of announcements at about the same time the latest is said, so another figure's may win once.
  const said = () => page.locator("#announcements").textContent();
  for (let i = 0; !/Noise level/.test((await said()) ?? ""); i++) {
    assert.ok(i < 10, "no announcement of the noise level");
    await page.keyboard.press("ArrowLeft");
    await page.waitForTimeout(2000);
  }
});

siteTest("the security policy is strict", { webgpu: [false] }, async (page) => {
  await open(page);
  const policy = (await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content")) ?? "";
  assert.ok(policy.startsWith("default-src 'none'"));
  assert.ok(!policy.includes("unsafe-inline") && !policy.includes("'unsafe-eval'"));
  const handlers = await page.evaluate(
    () =>
      [...document.querySelectorAll("*")].filter((element) =>
        [...element.attributes].some(({ name }) => name.startsWith("on")),
      ).length,
  );
  assert.equal(handlers, 0);
});

siteTest(
  "without scripts the article is still there, and says what is missing",
  { webgpu: [false], context: { javaScriptEnabled: false } },
  async (page) => {
    await page.goto(siteUrl);
    assert.ok(await page.locator("#eq-4 math").isVisible());
    assert.match(await page.locator("noscript").innerHTML(), /needs JavaScript/);
  },
);
