import { defineConfig } from "vite";
import { baked } from "./build/bake.js";
import { linkHeadings } from "./build/contents.js";
import { facts, fillIn, linkSources } from "./build/facts.js";
import { expandSections } from "./build/sections.js";

/**
 * Puts the article together, see `build/`.
 * @returns {import("vite").Plugin}
 */
const include = () => ({
  name: "include",
  transformIndexHtml: {
    order: "pre",
    handler(html) {
      const known = facts();
      return linkSources(fillIn(linkHeadings(expandSections(html)), known), known);
    },
  },
});

/**
 * For `cargo xtask dev`: reloads the page when a section was changed or the library compiled, and lets Vite put style
 * sheets into the page, which the policy of the finished one forbids.
 * @returns {import("vite").Plugin}
 */
const reload = () => ({
  name: "reload",
  apply: "serve",
  transformIndexHtml: (html) => html.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"),
  configureServer: ({ watcher, ws }) => {
    watcher.on("change", (file) => {
      if (/\bsections\W\w+\.html$|\bpkg\W\w+_bg\.wasm$/.test(file)) ws.send({ type: "full-reload" });
    });
  },
});

/** What Observable Plot imports for maps, colour schemes and dates, none of which a chart here has: 20 kB after gzip. */
const UNUSED = ["d3-geo", "d3-scale-chromatic", "d3-time", "d3-time-format"];

/**
 * Leaves functions that do nothing in the place of `UNUSED`, so that all scripts stay within 200 kB.
 * @returns {import("vite").Plugin}
 */
const leaveOut = () => ({
  name: "leave-out",
  apply: "build",
  enforce: "pre",
  resolveId: (id) => (UNUSED.includes(id) ? `\0${id}` : null),
  load: async (id) => {
    if (!id.startsWith("\0d3-")) return null;
    const names = Object.keys(await import(id.slice(1)));
    return names.map((name) => `export const ${name} = () => {};`).join("\n");
  },
});

export default defineConfig({
  // Relative addresses only, so that dist/ works under any sub-path.
  base: "./",
  // What does not exist is not found, instead of being the page once more.
  appType: "mpa",
  plugins: [include(), reload(), leaveOut(), baked()],
  // Where issues go, if the build was told.
  envPrefix: ["VITE_", "REPOSITORY_"],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    // Inlined files would be data: addresses, which the page's policy does not know.
    assetsInlineLimit: 0,
    // Drawing the article takes its time, and that is meant so.
    rolldownOptions: { checks: { pluginTimings: false, bundlerTimings: false } },
  },
  // The engines run in module workers. Their libraries are called the same, and told apart by their folders.
  worker: {
    format: "es",
    rolldownOptions: {
      output: {
        assetFileNames: ({ originalFileNames: [file = ""] }) => {
          const library = /pkg\/(?:(\w+)\/)?\w+\.wasm$/.exec(file);
          return `assets/${library ? (library[1] ?? "full") : "[name]"}-[hash][extname]`;
        },
      },
    },
  },
});
