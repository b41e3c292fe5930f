import { defineConfig } from "vite";
import { expandSections } from "./build/sections.js";

/**
 * Puts the article together, see `build/sections.js`.
 * @returns {import("vite").Plugin}
 */
const include = () => ({
  name: "include",
  transformIndexHtml: { order: "pre", handler: expandSections },
});

/**
 * Leaves packages out of the bundle that Observable Plot brings along and no chart here uses: together they are an eighth
 * of the page's scripts. What they export does nothing: Plot calls some of it when it is loaded.
 * @param {...string} packages
 * @returns {import("vite").Plugin}
 */
const leaveOut = (...packages) => ({
  name: "leave-out",
  enforce: "pre",
  resolveId: (id) => (packages.includes(id) ? `\0${id}` : null),
  async load(id) {
    const name = id.slice(1);
    if (!id.startsWith("\0") || !packages.includes(name)) return null;
    const exported = Object.keys(await import(name)).map((item) => `absent as ${item}`);
    return `const absent = () => {}; export { ${exported.join(", ")} };`;
  },
});

export default defineConfig({
  // Relative addresses only, so that dist/ works under any sub-path.
  base: "./",
  // Maps, dates, and colour schemes: the charts have none of the first two, and take their colours from the style sheet.
  plugins: [include(), leaveOut("d3-geo", "d3-time", "d3-time-format", "d3-scale-chromatic")],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    // Inlined files would be data: addresses, which the page's policy does not know.
    assetsInlineLimit: 0,
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
