// The page is built for one run and thrown away: `run.mjs` says where to.
export default {
  base: "./",
  build: { target: "es2022", minify: false, chunkSizeWarningLimit: 1e6 },
  worker: { format: "es" },
  // The crate's package, which `cargo xtask bench` has just made.
  resolve: { alias: { "hidden-gaussian-bench": process.env.BENCH_PACKAGE } },
};
