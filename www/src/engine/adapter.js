/** Which WebGPU adapters the library gets to see. */

/**
 * The part of the browser's `navigator.gpu` that matters here. Type checkers do not know it yet.
 * @typedef {{requestAdapter: (options?: object) => Promise<object | null>}} Gpu
 */

/** Whether the last adapter that was found is one of compatibility mode. */
export let isCompatible = false;

/**
 * Where the browser has no adapter for all of WebGPU, take one for the part that older GPUs can do. wgpu does not know how to
 * ask for that.
 * @param {Gpu | undefined} gpu
 */
export function acceptCompatibility(gpu) {
  if (!gpu) return;
  const request = gpu.requestAdapter.bind(gpu);
  gpu.requestAdapter = async (options) => {
    const core = await request(options);
    // A browser that does not know this field looks for the same as before, and finds nothing again.
    const adapter = core ?? (await request({ ...options, featureLevel: "compatibility" }));
    isCompatible = core === null && adapter !== null;
    return adapter;
  };
}
