// Reading: widths, themes, keyboard, assistive technology, security policy.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { live, open, openMore, openTable, panelButton, panelState, ready, violations } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

/**
 * Until every figure is drawn that is on the screen, or within so many pixels of it.
 * @param {Page} page
 * @param {number} [near]
 */
const drawn = (page, near = 0) =>
  page.waitForFunction(
    (near) =>
      [...document.querySelectorAll("figure.figure")].every((figure) => {
        // Some are folded away.
        if (!figure.checkVisibility()) return true;
        const { top, bottom } = figure.getBoundingClientRect();
        return bottom < -near || top > innerHeight + near || figure.matches("[data-ready]:not([aria-busy='true'])");
      }),
    near,
  );

/** To the next thing that the keyboard reaches. Sliders of a run are there when its figure is drawn. @param {Page} page */
async function tab(page) {
  await drawn(page, 300);
  await page.keyboard.press("Tab");
}

/**
 * Read the page to its end, a screen at a time, and wait for what is on it.
 * @param {Page} page
 */
async function readThrough(page) {
  for (let top = -1, next = 0; next > top; ) {
    await drawn(page);
    // What is drawn now is known a frame later.
    await page.waitForTimeout(100);
    top = next;
    next = await page.evaluate(() => {
      scrollBy(0, innerHeight);
      return scrollY;
    });
  }
}

/**
 * Nothing is wider than the screen.
 * @param {Page} page
 */
async function fits(page) {
  const { wide, width, cut } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    width: innerWidth,
    cut: [...document.querySelectorAll("button, input:not([hidden]), .segments")]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return right > innerWidth + 1 || left < -1;
      })
      .map((element) => element.outerHTML.slice(0, 80)),
  }));
  assert.ok(wide <= width, `${wide} px wide`);
  assert.deepEqual(cut, []);
}

for (const width of [390, 1280]) {
  siteTest(
    `the whole page at ${width} px: nothing moves as it arrives, nothing sticks out, axe finds nothing in either theme`,
    { webgpu: [false], context: { viewport: { width, height: 844 } } },
    async (page) => {
      await page.addInitScript(() => {
        const scope = /** @type {any} */ (globalThis);
        scope.shifts = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) {
            const { value, sources } = /** @type {any} */ (entry);
            const nodes = sources.map(
              (/** @type {any} */ { node }) => node?.outerHTML?.slice(0, 60) ?? node?.textContent,
            );
            scope.shifts.push({ value, at: scrollY, nodes });
          }
        }).observe({ type: "layout-shift", buffered: true });
      });
      // So late that the reader sees the place before the picture.
      await page.route("**/runs/*.json", async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        await route.continue();
      });
      await page.goto(siteUrl);
      await readThrough(page);
      // The sum over the whole page; up to 0.1 in any five seconds is called good.
      /** @type {{value: number}[]} */
      const shifts = await page.evaluate(() => /** @type {any} */ (globalThis).shifts);
      const shift = shifts.reduce((sum, { value }) => sum + value, 0);
      assert.ok(shift < 0.02, `${shift}: ${JSON.stringify(shifts)}`);

      await fits(page);
      await openTable(page.locator('[data-part="copies"]'));
      await page.locator("#engine").click();
      for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await violations(page), [], colorScheme);
      }
    },
  );
}

for (const width of [768, 2560]) {
  siteTest(
    `nothing sticks out at ${width} px`,
    { webgpu: [false], context: { viewport: { width, height: 844 } } },
    async (page) => {
      await open(page, "", "samples");
      await readThrough(page);
      await fits(page);
    },
  );
}

siteTest("a link to a figure leads to it, however far down it is", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}#agreement`);
  await page.locator("#agreement[data-ready]").waitFor();
  const top = await page.locator("#agreement").evaluate((figure) => figure.getBoundingClientRect().top);
  assert.ok(Math.abs(top) < 50, `${top}`);
});

siteTest(
  "the theme follows the system until the reader chooses, and the choice stays",
  { webgpu: [false], context: { colorScheme: "dark" } },
  async (page) => {
    await open(page, "", "hero");
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
  assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
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
    "samples.pick",
    "samples.seed",
    "transition.run",
    "transition sigma",
    "transition panel",
    "agreement size",
    "agreement run",
  ]);
  for (let i = 0; i < 300 && wanted.size > 0; i++) {
    await tab(page);
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
  for (let i = 0; !(await said())?.includes(` ${await live(page, "denoise.sigma")}:`); i++) {
    assert.ok(i < 10, "no announcement of the noise level");
    await page.keyboard.press("ArrowLeft");
    await page.waitForTimeout(2000);
  }
});

siteTest("the rest of the page can be reached by the keyboard too", { webgpu: [false] }, async (page) => {
  await page.goto(`${siteUrl}?engine=cpu#score-difference`);
  await page.locator("#score-difference[data-ready]").waitFor();
  await ready(page, "alignment");
  await page.locator('#score-difference [data-control="bias.run"] input:checked').focus();
  const wanted = new Set([
    "bias.split",
    "score-difference run",
    "bias.model",
    "paths path-step",
    "alignment alignment-sigma",
    "bias.descentN",
    "bias.descentRate",
    "emergence width",
    "emergence step",
    "phase run",
    "phase phase-size",
    "phase phase-step",
    "lab.experiment",
    "lab.preset",
    "lab.sizes",
    "lab more",
    "lab train",
    "lab tools",
    "self-check",
    "copy-bibtex",
  ]);
  for (let i = 0; i < 400 && wanted.size > 0; i++) {
    await tab(page);
    const reached = await page.evaluate(() => {
      const active = document.activeElement;
      const figure = active?.closest("figure")?.id;
      const parts = [];
      for (let part = active?.closest("[data-part]"); part; part = part.parentElement?.closest("[data-part]"))
        parts.push(part.getAttribute("data-part"));
      return [
        active?.closest("[data-control]")?.getAttribute("data-control"),
        ...parts,
        ...parts.map((part) => `${figure} ${part}`),
        ...(active?.closest(".figure-tools") ? [`${figure} tools`] : []),
        ...(active?.closest(".lab-more") ? [`${figure} more`] : []),
      ];
    });
    for (const name of reached) wanted.delete(name ?? "");
  }
  assert.deepEqual([...wanted], []);
});

siteTest(
  "axe finds nothing while runs train and something is wrong",
  { webgpu: [false], widths: [1280, 390] },
  async (page) => {
    await page.goto(`${siteUrl}?engine=cpu&transition.run=quick-faces#transition`);
    await page.locator("#transition[data-ready]").waitFor();
    await panelButton(page, "transition", "main").click();
    await panelState(page, "transition", "running");
    await openMore(page, "transition");
    await panelButton(page, "transition", "speed").selectOption("0.1");
    await ready(page, "lab");
    await page.locator(".lab-more summary").click();
    await page.locator('[data-control="lab.ema"] input').fill("12");
    await page.locator('#lab [data-part="train"]').click();
    await page.locator('#lab [data-part="lab-error"]', { hasText: "“12”" }).waitFor();
    // The run of the figure is in the table, under way.
    await page.locator(".lab-runs .run-state progress").waitFor();
    await fits(page);
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await page.emulateMedia({ colorScheme });
      for (const place of ["#transition", "#lab", ".run-chips"])
        assert.deepEqual(await violations(page, place), [], colorScheme);
    }
  },
);

siteTest("nothing moves for those who want no motion", { webgpu: [false] }, async (page) => {
  await open(page, "", "hero");
  await page.locator("html[data-complete]").waitFor();
  const scrolling = () => page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
  assert.equal(await scrolling(), "auto");
  // Nothing but how visible something is may change over time.
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")]
      .map((element) => getComputedStyle(element))
      .filter(
        ({ animationName, transitionDuration, transitionProperty }) =>
          animationName !== "none" || (parseFloat(transitionDuration) > 0 && transitionProperty !== "opacity"),
      )
      .map(({ animationName, transitionProperty }) => `${animationName} ${transitionProperty}`),
  );
  assert.deepEqual([...new Set(moving)], []);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  assert.equal(await scrolling(), "smooth");
});

siteTest("the security policy is strict", { webgpu: [false] }, async (page) => {
  await open(page, "", "hero");
  const policy = (await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content")) ?? "";
  // The page itself and its WebAssembly, and nothing else.
  assert.deepEqual(policy.split("; ").sort(), [
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "font-src 'self'",
    "form-action 'none'",
    "img-src 'self' blob:",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "worker-src 'self'",
  ]);
  const handlers = await page.evaluate(
    () =>
      [...document.querySelectorAll("*")].filter((element) =>
        [...element.attributes].some(({ name }) => name.startsWith("on")),
      ).length,
  );
  assert.equal(handlers, 0);
});
