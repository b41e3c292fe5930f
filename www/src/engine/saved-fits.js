/**
 * Fits that took long, kept in the browser's cache for the next visit. It is a convenience: where the browser has no cache or
 * no room, nothing is kept and nobody is bothered.
 */
import { base } from "./serve.js";

/** Change it when a fit of the same images would come out different. */
const NAME = "hidden-gaussian-fits-1";
/** A fit to photographs takes up to 38 MB. */
const MOST = 3;

/** @param {string} key */
const address = (key) => new URL(`fits/${key}`, base);

/** @param {string} key @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} */
export async function savedFit(key) {
  try {
    const found = await (await caches.open(NAME)).match(address(key));
    return found && new Uint8Array(await found.arrayBuffer());
  } catch {
    return undefined;
  }
}

/** @param {string} key @param {Uint8Array<ArrayBuffer>} bytes */
export async function saveFit(key, bytes) {
  try {
    const cache = await caches.open(NAME);
    // Oldest first.
    const old = await cache.keys();
    await Promise.all(old.slice(0, Math.max(0, old.length + 1 - MOST)).map((request) => cache.delete(request)));
    await cache.put(address(key), new Response(bytes));
  } catch {
    // It will be fitted again.
  }
}
