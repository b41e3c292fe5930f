import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

/**
 * Puts `sections/x.html` where index.html says `<!-- include sections/x.html -->`, so that each part of the article is
 * a file of its own and the reader still gets one page.
 * @returns {import("vite").Plugin}
 */
const include = () => ({
  name: "include",
  transformIndexHtml: {
    order: "pre",
    handler: (html) =>
      html.replace(/<!-- include (\S+) -->/g, (_, file) => readFileSync(new URL(file, import.meta.url), "utf8")),
  },
});

export default defineConfig({
  // Relative addresses only, so that dist/ works under any sub-path.
  base: "./",
  plugins: [include()],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
  },
  // The engines run in module workers. Their libraries are called the same, and told apart by their folders.
  worker: {
    format: "es",
    rolldownOptions: {
      output: {
        assetFileNames: ({ originalFileNames: [file = ""] }) =>
          `assets/${file.endsWith(".wasm") ? (file.includes("pkg/exact/") ? "exact" : "full") : "[name]"}-[hash][extname]`,
      },
    },
  },
});
