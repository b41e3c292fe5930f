import { defineConfig } from "vite";
import { baked } from "./build/bake.js";
import { linkHeadings } from "./build/contents.js";
import { facts, fillIn, linkSources } from "./build/facts.js";
import { leaveOut } from "./build/leave-out.js";
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
