// This crate.

import init, { Training, empirical, images, matmul } from "hidden-gaussian-bench/bench.js";
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

/** The images that everybody learns. */
export async function pool(size) {
  await load();
  return images(size);
}
