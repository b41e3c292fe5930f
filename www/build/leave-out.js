/** Leaves out of the bundle what Observable Plot brings along and no chart here has. */
import { fileURLToPath } from "node:url";
import * as standIns from "./stand-ins.js";

/** Packages for maps, mixed colours and dates: every function of theirs does nothing. */
const PACKAGES = ["d3-color", "d3-geo", "d3-time", "d3-time-format", "isoformat"];

/** Modules of Plot in which functions of `stand-ins.js` replace those of the same name. */
const MODULES = /\/(bin|diverging|group|legends|marker|pointer|projection|schemes|stack|temporal|time|tip)\.js$/;
const PLOT = /^[^\0].*\/@observablehq\/plot\/src\//;

/** Without it all scripts would weigh 43 kB more after gzip. @returns {import("vite").Plugin} */
export const leaveOut = () => ({
  name: "leave-out",
  apply: "build",
  enforce: "pre",
  async resolveId(id, importer = "") {
    if (PACKAGES.includes(id)) return `\0package:${id}`;
    if (!PLOT.test(importer) || !MODULES.test(id)) return null;
    const whole = await this.resolve(id, importer, { skipSelf: true });
    return { id: `\0module:${whole?.id}`, moduleSideEffects: false };
  },
  async load(id) {
    const [, kind, name] = /^\0(package|module):(.*)/.exec(id) ?? [];
    if (kind === "package") {
      const names = Object.keys(await import(name));
      return names.map((unused) => `export const ${unused} = () => {};`).join("\n");
    }
    if (kind === "module") {
      const replacements = JSON.stringify(fileURLToPath(new URL("stand-ins.js", import.meta.url)));
      return `export * from ${JSON.stringify(name)}; export { ${Object.keys(standIns)} } from ${replacements};`;
    }
    return null;
  },
});
