// Chromium, by playwright-core.

import { browser as launched, watch } from "../harness.mjs";

/** @import { Browser } from "./driver.mjs" */

/** @type {Browser} */
export const browser = {
  webgpu: [true, false],

  async open(webgpu) {
    const context = await (await launched(webgpu)).newContext({ reducedMotion: "reduce" });
    const page = await context.newPage();
    const faults = watch(page);
    return {
      goto: async (address) => void (await page.goto(address)),
      reload: async () => void (await page.reload()),
      evaluate: (script) => page.evaluate(script),
      async drag([first, ...others]) {
        await page.mouse.move(first.x, first.y);
        await page.mouse.down();
        for (const { x, y } of others) await page.mouse.move(x, y);
        await page.mouse.up();
      },
      setFiles: (selector, paths) => page.locator(selector).setInputFiles(paths),
      screenshot: () => page.screenshot(),
      faults: async () => faults,
      close: () => context.close(),
    };
  },

  // The harness closes them.
  close: async () => {},
};
