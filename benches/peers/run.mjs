// Trains the same networks with this crate, jax-js and TensorFlow.js, in turns in one Chromium, and
// prints steps per second. `cargo xtask bench` builds what it needs and sets the variables:
// BENCH_PACKAGE, the crate's package; BENCH_SITE, where to build the page of the benchmark; CHROMIUM;
// SITE_URL, the built site.
//
// Words after the script's name choose: an engine, a preset.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { LARGE, NETWORKS, PRESETS, parameterCount } from "./src/presets.js";

const { BENCH_PACKAGE, BENCH_SITE, CHROMIUM, SITE_URL } = process.env;
assert(BENCH_PACKAGE && BENCH_SITE && CHROMIUM && SITE_URL, "run this by: cargo xtask bench");

const require = createRequire(new URL("../../www/package.json", import.meta.url));
const { build, preview } = await import(pathToFileURL(require.resolve("vite")));
const { chromium } = require("playwright-core");

/** Times that everybody takes turns. The best turn counts beside others; ratios within a round, and rates over a time, are medians. */
const ROUNDS = 6;
/** About as long is a turn, in seconds. */
const TURN = 0.5;
/** A contestant that takes longer to start or for a turn is left out. */
const PATIENCE = 240_000;
/** A step of a large network that takes longer is the only one, in seconds. */
const LONG = 30;
/** How often the page's quick sweep is timed. */
const SWEEPS = 5;
/** Members of the ensemble. */
const MEMBERS = 8;

const ENGINES = { webgpu: "WebGPU", wasm: "WebAssembly, one worker" };
const NAMES = { ours: "hidden-gaussian", jaxjs: "jax-js 0.1.25", tfjs: "TensorFlow.js 4.22" };

const words = process.argv.slice(2);
const chosen = (of, among = of) => {
  const any = Object.keys(among).some((name) => words.includes(name));
  return Object.keys(of).filter((name) => !any || words.includes(name));
};
const presets = chosen(PRESETS, NETWORKS);

const root = fileURLToPath(new URL(".", import.meta.url));
const vite = { root, logLevel: "error", build: { outDir: BENCH_SITE, emptyOutDir: true } };
await build(vite);
const server = await preview({ ...vite, preview: { port: 0, host: "127.0.0.1" } });
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  // WebGPU in software, as in the tests: the same on every machine.
  args: ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
});

try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(server.resolvedUrls.local[0]);
  const machine = `${cpus().length} × ${cpus()[0].model}`;
  console.log(`${machine}; Chromium ${browser.version()}, WebGPU on ${await adapter(page)}`);

  const ask = (id, request) => {
    const asked = page.evaluate(([id, request]) => globalThis.bench.ask(id, request), [id, request]);
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${PATIENCE / 1000} s`)), PATIENCE);
    });
    return Promise.race([asked, late]).finally(() => clearTimeout(timer));
  };
  const stop = (id) => page.evaluate((id) => globalThis.bench.stop(id), id);

  const pools = {};
  for (const { size } of Object.values(PRESETS)) {
    pools[size] ??= Object.values(await ask("data", { action: "pool", size }));
  }

  /** Start a contestant; the steps that take it a turn. */
  const enter = async ({ id, ...options }) => {
    const network = NETWORKS[options.preset];
    const pool = LARGE[options.preset] ? undefined : pools[network.size];
    const { parameters } = await ask(id, { action: "start", members: 1, pool, ...options });
    assert.equal(parameters, parameterCount(network), "another network");
    if (LARGE[options.preset]) return 1;
    await ask(id, { action: "steps", count: 2 });
    const { seconds } = await ask(id, { action: "steps", count: 4 });
    return Math.max(1, Math.round((TURN * 4) / seconds));
  };

  /** Seconds that a step of each of `contestants` takes with a large network: the best of three at most. */
  const raceOfLarge = async (contestants) => {
    const entered = [];
    for (const contestant of contestants) {
      const entry = { id: contestant.id, seconds: Infinity };
      entered.push(entry);
      try {
        await enter(contestant);
        for (let round = 0; round < 3; round++) {
          const { seconds, loss } = await ask(entry.id, { action: "steps", count: 1 });
          // The first step compiles; it counts if it takes so long that it is the only one.
          if (round > 0 || seconds > LONG) entry.seconds = Math.min(entry.seconds, seconds);
          entry.loss = loss;
          if (seconds > LONG) break;
        }
      } catch (error) {
        entry.error = sentence(error);
      }
      await stop(entry.id);
    }
    return entered;
  };

  /** Seconds that a step of each of `contestants` takes, by id: in several turns, and the best counts. */
  const race = async (contestants) => {
    const entered = [];
    for (const contestant of contestants) {
      const entry = { id: contestant.id, seconds: Infinity };
      try {
        entry.count = await enter(contestant);
      } catch (error) {
        entry.error = sentence(error);
      }
      entered.push(entry);
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const entry of entered.filter(({ error }) => !error)) {
        try {
          const { seconds, loss } = await ask(entry.id, { action: "steps", count: entry.count });
          entry.seconds = Math.min(entry.seconds, seconds / entry.count);
          entry.loss = loss;
          entry.count = Math.max(1, Math.round(TURN / entry.seconds));
        } catch (error) {
          entry.error = sentence(error);
        }
      }
    }
    await Promise.all(entered.map(({ id }) => stop(id)));
    return entered;
  };

  console.log("\nOne training step: draw images, noise levels and noise; forward; backward; Adam; moving average");
  console.log(line(["engine", "network", "who", "steps/s", "ours is", "loss"]));
  for (const engine of chosen(ENGINES)) {
    for (const preset of chosen(NETWORKS)) {
      const contestants = Object.keys(NAMES).map((who) => ({ id: who, who, engine, preset }));
      const entries = await (LARGE[preset] ? raceOfLarge : race)(contestants);
      for (const { id, seconds, loss, error } of entries) {
        const rate = error ? "—" : (1 / seconds).toPrecision(3);
        const ratio = error || id === "ours" ? "" : `${(seconds / entries[0].seconds).toFixed(1)} ×`;
        console.log(line([ENGINES[engine], preset, NAMES[id], rate, ratio, error ?? loss.toFixed(2)]));
      }
    }
  }

  /**
   * What a number of steps takes an ensemble, over what it takes one member. That one does them as often as there are
   * members, half before and half after: so both are measured for as long, and what the machine does besides slows both.
   */
  const ensembleCost = async (options) => {
    const count = await enter({ id: "one", ...options });
    await enter({ id: "all", ...options, members: MEMBERS });
    const turn = async (id) => (await ask(id, { action: "steps", count })).seconds;
    const half = async () => {
      let sum = 0;
      for (let i = 0; i < MEMBERS / 2; i++) sum += await turn("one");
      return sum;
    };
    const ratios = [];
    let before = await half();
    for (let round = 0; round < ROUNDS; round++) {
      const all = await turn("all");
      const after = await half();
      ratios.push((MEMBERS * all) / (before + after));
      before = after;
    }
    return `${median(ratios).toFixed(2)} ×`;
  };

  console.log(`\nAn ensemble of ${MEMBERS} members against one member, for the same number of steps`);
  for (const engine of chosen(ENGINES)) {
    for (const preset of presets) {
      const cost = await ensembleCost({ who: "ours", engine, preset }).catch(sentence);
      await Promise.all(["one", "all"].map(stop));
      console.log(line([ENGINES[engine], preset, "costs", cost]));
    }
  }

  if (chosen(ENGINES).includes("wasm")) {
    let [matmul, empirical] = [0, 0];
    for (let round = 0; round < ROUNDS / 2; round++) {
      const rates = await ask("rates", { action: "rates" });
      matmul = Math.max(matmul, rates.matmul);
      empirical = Math.max(empirical, rates.empirical);
    }
    await stop("rates");
    console.log("\nWebAssembly, one worker");
    console.log(`matrix multiply 64×512×256          ${matmul.toFixed(1)} GFLOP/s`);
    const share = ((100 * empirical) / matmul).toFixed(0);
    console.log(`D_M, N = 8192, d = 256, batch 64    ${empirical.toFixed(1)} GFLOP/s, ${share} % of it`);

    console.log("\nDenoisers fitted to 1024 faces of 16×16 pixels, on 16 others");
    const times = await ask("denoisers", { action: "denoisers" });
    await stop("denoisers");
    const [, memorizing] = times.find(([name]) => name === "empirical");
    for (const [name, seconds] of times) {
      console.log(
        `${name.padEnd(16)}${seconds.toPrecision(3).padStart(9)} s  ${(seconds / memorizing).toPrecision(3)} × D_M`,
      );
    }

    const cores = await page.evaluate(() => navigator.hardwareConcurrency);
    console.log(
      `\nAll ${cores} workers at once, steps/s in sum; and ${MEMBERS} members on all of them, as in the page, against one on one`,
    );
    for (const preset of presets) {
      const rates = await together(preset, cores);
      const alone = median(await together(preset, 1));
      const shared = median(await together(preset, cores, Math.ceil(MEMBERS / cores)));
      const cost = `${((MEMBERS * alone) / shared).toFixed(2)} ×`;
      console.log(line(["WebAssembly", preset, "", median(rates).toFixed(1), cost]));
      if (preset === "quick") await sweeps(cores, rates);
    }
  }

  /** Hold the page's quick sweeps against the time that their steps alone take at the rate of all workers. */
  async function sweeps(cores, before) {
    const { config } = await (await fetch(`${SITE_URL}runs/transition-quick-faces.json`)).json();
    // The page trains one network of each size; those recorded are of several seeds.
    const steps = config.sizes.length * config.train.steps;
    console.log("\nThe page's quick sweep of Figure 1, from click to curves");
    const ratios = [];
    let last;
    for (let round = 0; round < SWEEPS; round++) {
      last = await sweep();
      // Both before and after: a sweep takes long enough for the machine to get other work.
      const after = await together("quick", cores);
      const rate = median([...before, ...after]);
      before = after;
      ratios.push((last.seconds * rate) / steps);
      const alone = `the ${(steps / rate).toFixed(1)} s of its steps at ${rate.toFixed(0)} steps/s`;
      console.log(`${last.state} in ${last.seconds.toFixed(1)} s, ${ratios.at(-1).toFixed(2)} × ${alone}`);
    }
    console.log(`${median(ratios).toFixed(2)} × in the middle; the last one's numbers:`);
    for (const cells of last.rows) console.log(cells.join("\t"));
  }

  /** Train the page's Figure 1 from click to finished curves. */
  async function sweep() {
    const site = await browser.newPage();
    await site.goto(`${SITE_URL}?engine=cpu&transition.run=quick-faces`);
    const figure = site.locator("#transition");
    await figure.scrollIntoViewIfNeeded();
    const button = figure.locator('.run-panel button[data-action="main"]:enabled');
    await button.scrollIntoViewIfNeeded();
    const start = performance.now();
    await button.click();
    // Not by a locator, which would look at every frame and so make the page draw all the time.
    const state = await figure.evaluate((figure) => {
      const panel = figure.querySelector(".run-panel");
      return new Promise((resolve) => {
        new MutationObserver(() => {
          if (["done", "failed"].includes(panel.dataset.state)) resolve(panel.dataset.state);
        }).observe(panel, { attributeFilter: ["data-state"] });
      });
    });
    const seconds = (performance.now() - start) / 1000;
    const rows = [];
    for (const part of ["gl", "memorized", "linearity"]) {
      const chart = figure.locator(`[data-part="${part}"]`);
      await chart.locator("summary").click();
      for (const row of await chart.locator("tr").all()) rows.push(await row.locator("th, td").allInnerTexts());
    }
    await site.close();
    return { state, seconds, rows };
  }

  /** Steps per second of all members of `count` workers that train `preset` at the same time, for each of several turns. */
  async function together(preset, count, members = 1) {
    const ids = Array.from({ length: count }, (_, i) => `worker ${i}`);
    const pool = [];
    for (const id of ids) {
      await ask(id, { action: "start", who: "ours", engine: "wasm", preset, members, pool });
    }
    const { seconds } = await ask(ids[0], { action: "steps", count: 4 });
    const steps = Math.max(1, Math.round((TURN * 4) / seconds));
    const rates = [];
    for (let round = 0; round < ROUNDS; round++) {
      const turns = ids.map((id) => ask(id, { action: "steps", count: steps }));
      const slowest = Math.max(...(await Promise.all(turns)).map(({ seconds }) => seconds));
      rates.push((count * members * steps) / slowest);
    }
    await Promise.all(ids.map(stop));
    return rates;
  }
} finally {
  await browser.close();
  await server.close();
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle - 0.5)] + sorted[Math.ceil(middle - 0.5)]) / 2;
}

/** An error of the page, without the tool that brought it and where it came from. */
function sentence(error) {
  return error.message.split("\n")[0].replace("page.evaluate: Error: ", "");
}

/** What the browser tells of its WebGPU adapter. */
function adapter(page) {
  return page.evaluate(async () => {
    const { vendor, architecture, description } = (await navigator.gpu.requestAdapter()).info;
    return [vendor, architecture, description].filter(Boolean).join(" ");
  });
}

function line(cells) {
  const [engine, network, who, rate, ratio = "", note = ""] = cells;
  const left = [engine.padEnd(23), network.padEnd(11), who.padEnd(18)];
  return [...left, rate.padStart(8), ratio.padStart(8), note].join("  ").trimEnd();
}
