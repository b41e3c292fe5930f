/** The article drawn at build time, by a process of its own: `prerender.js` makes itself a browser. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { preview } from "./preview.js";

/**
 * @param {string} html
 * @returns {Promise<{html: string, files: Record<string, string>}>} files by their names, in base64
 */
export async function bake(html) {
  const folder = await mkdtemp(join(tmpdir(), "hidden-gaussian-"));
  const [input, output] = [join(folder, "in.html"), join(folder, "out.json")];
  try {
    await writeFile(input, html);
    const script = fileURLToPath(new URL("prerender.js", import.meta.url));
    const { stderr } = await promisify(execFile)(process.execPath, [script, input, output]);
    if (stderr) console.warn(stderr.trim());
    return JSON.parse(await readFile(output, "utf8"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Puts the article into the page as a reader sees it first.
 * @returns {import("vite").Plugin}
 */
export function baked() {
  /** @type {Record<string, string>} */
  let files = {};
  return {
    name: "baked",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      async handler(html) {
        const made = await bake(html);
        files = made.files;
        return made.html;
      },
    },
    async writeBundle({ dir = "." }) {
      for (const [name, base64] of Object.entries(files)) {
        await mkdir(dirname(join(dir, name)), { recursive: true });
        await writeFile(join(dir, name), base64, "base64");
      }
      await writeFile(join(dir, "preview.png"), preview());
    },
  };
}
