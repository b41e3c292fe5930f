// The pages are built for one run and thrown away: `run.mjs` and `capture.mjs` say where to.
const { BENCH_PACKAGE } = process.env;

export default {
  base: "./",
  build: { target: "es2022", minify: false, chunkSizeWarningLimit: 1e6 },
  worker: { format: "es" },
  // The crate's package, which `cargo xtask bench` has just made; to capture what others do needs none.
  resolve: { alias: BENCH_PACKAGE ? { "hidden-gaussian-bench": BENCH_PACKAGE } : {} },
};
