import init, { Dataset, Engine, Run, presetConfig } from "./pkg/hidden_gaussian.js";

await init({ module_or_path: new URL("./pkg/hidden_gaussian_bg.wasm", import.meta.url) });
const engine = await Engine.open("cpu"); // or "gpu", or "auto" for the faster one
const faces = Dataset.faces({ size: 12, count: 600, seed: 1, heldOut: 88 });

const config = JSON.parse(presetConfig("transition", "quick", faces, 1));
config.sizes = [16, 512]; // two networks: one on 16 faces, one on 512
config.train.steps = 300;
config.look.samples = 32;
const run = await Run.start(engine, faces, "transition", JSON.stringify(config));
let progress = await run.advance(100); // trains for about 100 ms
while (progress.step < progress.total) progress = await run.advance(100);

/** @type {{findings: {n: number, closeness: {memorized: {mean: number}}, cosineGaussian: {mean: number}}[]}} */
const { findings } = JSON.parse(await run.report());
for (const { n, closeness, cosineGaussian } of findings) {
  console.log(`N = ${n}: copies ${closeness.memorized.mean}, cosine with the Gaussian's samples ${cosineGaussian.mean}`);
}
