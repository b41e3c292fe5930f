// Takes pictures of the built site; `cargo xtask screenshots` sets SITE_URL, CHROMIUM, DOCS and SECTIONS.

import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(new URL("../../www/package.json", import.meta.url))("playwright-core");
const { SITE_URL, CHROMIUM, DOCS = "docs", SECTIONS = "." } = process.env;

/** Pictures of the README: the first screen, and the figure that the page is about. */
const README = [
  { name: "first-screen", height: 1000 },
  { name: "transition", figure: "transition" },
];
const THEMES = /** @type {const} */ (["light", "dark"]);

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--hide-scrollbars"] });

/**
 * The page in this theme and width, with every figure drawn.
 * @param {"light" | "dark"} colorScheme
 * @param {number} width
 */
async function page(colorScheme, width) {
  const opened = await browser.newPage({
    colorScheme,
    viewport: { width, height: 1000 },
    deviceScaleFactor: width < 600 ? 2 : 1.5,
    reducedMotion: "reduce",
  });
  await opened.goto(SITE_URL);
  // Figures compute when they come near the screen.
  for (const figure of await opened.locator("figure[data-figure], section[aria-labelledby]").all()) {
    await figure.scrollIntoViewIfNeeded();
    await opened.waitForTimeout(600);
  }
  await opened.locator('figure[aria-busy="true"]').first().waitFor({ state: "detached" });
  await opened.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  await opened.waitForTimeout(500);
  return opened;
}

for (const theme of THEMES) {
  for (const width of [1280, 390]) {
    const opened = await page(theme, width);
    if (width === 1280) {
      for (const { name, height, figure } of README) {
        const path = join(DOCS, `${name}-${theme}.png`);
        if (figure) await opened.locator(`figure[data-figure="${figure}"]`).screenshot({ path });
        else await opened.screenshot({ path, clip: { x: 0, y: 0, width, height: height ?? 1000 } });
      }
    }
    for (const [i, section] of (await opened.locator("main > section").all()).entries()) {
      const name = (await section.getAttribute("aria-labelledby")) ?? "section";
      await section.screenshot({ path: join(SECTIONS, `${i + 1}-${name}-${theme}-${width}.png`) });
    }
    await opened.close();
  }
}
await browser.close();
