import init, { Dataset, Engine, Run, presetConfig } from "./pkg/hidden_gaussian.js";

await init();
const engine = await Engine.open("cpu"); // or "gpu", or "auto" for the faster one
const data = Dataset.faces({ size: 12, count: 600, seed: 1, heldOut: 88 });

const config = presetConfig({ experiment: "transition", preset: "quick", data, seed: 1 });
config.sizes = [16, 512]; // two networks: one on 16 faces, one on 512
config.train.steps = 300;
config.evaluation.samples = 32;
const run = await Run.start({ engine, data, experiment: "transition", config });
let progress = await run.advance(100); // trains for about 100 ms
while (progress.step < progress.total) progress = await run.advance(100);

const { findings } = await run.report();
for (const { n, denoisers } of findings) {
  const { closeness, against } = denoisers.trained;
  const cosine = against.gaussian?.cosine.mean;
  console.log(`N = ${n}: copies ${closeness.memorized.mean}, cosine with the Gaussian's samples ${cosine}`);
}
