// The presentation: one figure fills the window, and keys go through the article.

import assert from "node:assert/strict";
import { siteTest, siteUrl } from "./harness.mjs";
import { ready, until, violations } from "./page.mjs";

/** @typedef {import("playwright-core").Page} Page */

const PROJECTOR = { viewport: { width: 1920, height: 1080 } };

/** The figure that is shown alone. @param {Page} page */
const alone = (page) => page.locator("figure[data-embedded]").getAttribute("data-figure");

/** The names of all figures, in order. @param {Page} page */
const names = (page) =>
  page.evaluate(() => [...document.querySelectorAll("figure[data-figure]")].map((f) => f.getAttribute("data-figure")));

/** Until the figure that is shown alone is drawn. @param {Page} page */
const drawn = (page) => page.locator('figure[data-embedded][data-ready]:not([aria-busy="true"])').waitFor();

/**
 * The smallest text of the figure on the screen, in pixels of the screen.
 * @param {Page} page
 */
const smallestText = (page) =>
  page.evaluate(() => {
    const sizes = [...document.querySelectorAll("figure[data-embedded] *, .present-bar *")]
      .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim()))
      .filter((element) => element.checkVisibility() && !element.closest("math, sub, sup, .visually-hidden, option"))
      .map((element) => {
        const zoom = /** @type {any} */ (element).currentCSSZoom ?? 1;
        const text = element.textContent?.trim().slice(0, 30);
        return { text, size: parseFloat(getComputedStyle(element).fontSize) * zoom };
      });
    return sizes.reduce((least, one) => (one.size < least.size ? one : least));
  });

siteTest(
  "?present begins with the first figure, arrow keys go through all, and Escape leads back",
  { webgpu: [false], context: PROJECTOR },
  async (page) => {
    await page.goto(`${siteUrl}?present`);
    await drawn(page);
    const all = await names(page);
    assert.equal(await alone(page), all[0]);
    for (const name of all.slice(1)) {
      await page.keyboard.press("ArrowRight");
      assert.equal(await alone(page), name);
      assert.equal(new URL(page.url()).searchParams.get("figure"), name);
    }
    // The last stays.
    await page.keyboard.press("ArrowRight");
    assert.equal(await alone(page), all.at(-1));
    await page.keyboard.press("Home");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await alone(page), all[1]);
    await page.keyboard.press("Escape");
    await page.locator("h1").waitFor();
    assert.equal(await page.locator("[data-embedded]").count(), 0);
    const top = await page.locator(`figure[data-figure="${all[1]}"]`).evaluate((f) => f.getBoundingClientRect().top);
    assert.ok(Math.abs(top) < 60, `${top}`);
    // The way back leads into the presentation again.
    await page.goBack();
    await until("the presentation is back", async () => (await alone(page)) === all[1]);
  },
);

siteTest(
  "on a projector all text has 24 pixels, samples are large, and every figure fits",
  { webgpu: [false], context: PROJECTOR, timeout: 240_000 },
  async (page) => {
    await page.goto(siteUrl);
    await ready(page, "hero");
    const area = () =>
      page
        .locator("#hero canvas")
        .first()
        .evaluate((canvas) => {
          const { height } = canvas.getBoundingClientRect();
          return height * height;
        });
    const before = await area();
    await page.locator("#present").click();
    await drawn(page);
    // At this width the article's own samples are as large as they get; 1280 is what most people have.
    assert.ok((await area()) > 2 * before, `${await area()} from ${before}`);
    for (const name of await names(page)) {
      assert.equal(await alone(page), name);
      await drawn(page);
      await page.waitForTimeout(300);
      // What is computed makes a figure higher when it is there.
      await page.locator('figure[data-embedded] [data-state="running"]').waitFor({ state: "detached" });
      // A figure is fitted once more when its charts have grown.
      const high = () => page.evaluate(() => document.documentElement.scrollHeight);
      await until(`${name} fits`, async () => (await high()) <= 1080);
      const { text, size } = await smallestText(page);
      assert.ok(size >= 23.9, `${name}: “${text}” has ${size} px`);
      const { wide, width } = await page.evaluate(() => ({
        wide: document.documentElement.scrollWidth,
        width: document.querySelector("figure[data-embedded]")?.getBoundingClientRect().width ?? 0,
      }));
      assert.ok(wide <= 1920, `${name} is ${wide} px wide`);
      assert.ok(width >= 1100, `${name} takes ${width} px`);
      await page.keyboard.press("PageDown");
    }
  },
);

siteTest(
  "controls keep their keys, buttons turn pages, and the caption folds out",
  { webgpu: [false] },
  async (page) => {
    await page.goto(`${siteUrl}?figure=hero`);
    await drawn(page);
    const slider = page.locator("#hero input[type=range]");
    await slider.focus();
    const before = await slider.getAttribute("aria-valuetext");
    await page.keyboard.press("ArrowRight");
    await until("the slider moves", async () => (await slider.getAttribute("aria-valuetext")) !== before);
    assert.equal(await alone(page), "hero");
    // A click on the chart is read at its scale: at its right end, the largest training set.
    const box = await page.locator("#hero .chart-picture").boundingBox();
    assert.ok(box);
    await page.mouse.click(box.x + box.width - 2, box.y + box.height / 2);
    const largest = await page.locator("#hero .ticks b").last().textContent();
    await until(
      `N = ${largest}`,
      async () => (await slider.getAttribute("aria-valuetext"))?.startsWith(largest ?? "?") ?? false,
    );

    // The caption lies over the figure, which stays as it is.
    const caption = page.locator("#hero figcaption");
    const edge = () => page.locator("#hero").evaluate((figure) => figure.getBoundingClientRect().bottom);
    const bottom = await edge();
    assert.ok(await caption.isHidden());
    await page.locator(".present-bar button", { hasText: "Caption" }).click();
    assert.ok(await caption.isVisible());
    assert.equal(await edge(), bottom);
    const [bar, words] = [await page.locator(".present-bar").boundingBox(), await caption.boundingBox()];
    const high = page.viewportSize()?.height ?? 0;
    assert.ok(bar && words && words.y > bar.y + bar.height && Math.abs(words.y + words.height - high) < 1);
    await page.keyboard.press("Escape");
    assert.ok(await caption.isHidden());
    assert.equal(await alone(page), "hero");
    await page.locator(".present-bar button", { hasText: "Caption" }).click();
    for (const place of [".present-bar", "#hero"]) assert.deepEqual(await violations(page, place), []);
    const all = await names(page);
    await page.locator('.present-bar [aria-label="Next figure"]').click();
    assert.equal(await alone(page), all[1]);
    assert.ok(await page.locator("figure[data-embedded] figcaption").isHidden());
    await page.locator(".present-bar button", { hasText: "Article" }).click();
    await page.locator("h1").waitFor();
  },
);

siteTest(
  "a slide begins with its message, can be chosen under its figure, and has a bar that is read on a small projector",
  { webgpu: [false], context: { viewport: { width: 1024, height: 768 } } },
  async (page) => {
    await page.goto(`${siteUrl}?present&figure=modes`);
    await drawn(page);
    assert.equal(await alone(page), "modes");
    const message = await page
      .locator("#modes")
      .evaluate((figure) => parseFloat(getComputedStyle(figure, "::before").height));
    assert.ok(message > 20, `${message}`);
    const text = await page
      .locator(".present-place")
      .evaluate((place) => parseFloat(getComputedStyle(place).fontSize) * /** @type {any} */ (place).currentCSSZoom);
    assert.ok(text >= 17, `${text}`);
    await page.keyboard.press("Escape");
    await page.locator("h1").waitFor();
    await ready(page, "transition");
    await page.locator('#transition [data-tool="present"]').click();
    assert.equal(await alone(page), "transition");
    const silent = await page.evaluate(() =>
      [...document.querySelectorAll("figure[data-figure]:not([data-message])")].map(({ id }) => id),
    );
    // The lab has none before the reader trains.
    assert.deepEqual(silent, ["lab"]);
  },
);

siteTest(
  "on a phone a swipe turns the page",
  { webgpu: [false], context: { viewport: { width: 390, height: 844 }, hasTouch: true } },
  async (page) => {
    await page.goto(`${siteUrl}?present`);
    await drawn(page);
    const all = await names(page);
    /** @param {number} from @param {number} to */
    const swipe = (from, to) =>
      page.evaluate(
        ([from, to]) => {
          const target = /** @type {Element} */ (document.querySelector("figure[data-embedded] p"));
          /** @param {number} clientX */
          const at = (clientX) => new Touch({ identifier: 1, target, clientX, clientY: 300 });
          const options = { bubbles: true, touches: [at(from)], changedTouches: [at(from)] };
          target.dispatchEvent(new TouchEvent("touchstart", options));
          target.dispatchEvent(new TouchEvent("touchend", { bubbles: true, changedTouches: [at(to)] }));
        },
        [from, to],
      );
    await swipe(300, 60);
    assert.equal(await alone(page), all[1]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${wide}`);
  },
);
