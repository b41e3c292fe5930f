// This crate.

import init, { empirical, images, matmul, Training, theories } from "hidden-gaussian-bench/bench.js";
import wasm from "hidden-gaussian-bench/bench_bg.wasm?url";

const load = () => init({ module_or_path: wasm });

export async function start({ engine, preset, members }) {
  await load();
  const training = await Training.start(preset, engine === "webgpu", members);
  return {
    parameters: training.parameters(),
    steps: (count) => training.steps(count),
  };
}

/** GFLOP/s of the matrix multiply and of D_M on the CPU engine. */
export async function rates() {
  await load();
  return { matmul: await matmul(), empirical: await empirical() };
}

/** Pairs of a denoiser's name and the seconds in which it denoises 16 images. */
export async function denoisers() {
  await load();
  return theories();
}

/** The images that everybody learns. */
export async function pool(size) {
  await load();
  return images(size);
}
