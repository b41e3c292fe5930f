// Sees what a library does on the GPU: the shaders of a training step, and the sizes of their dispatches.
//
// Nothing is computed: dispatches are noted and not passed on, so that a step of a large network takes no longer than
// one of a small network. No library looks at its numbers to decide what to do next.

import { IMAGES, NETWORKS, parameterCount, pixels } from "./presets.js";

const libraries = { jaxjs: () => import("./jaxjs.js"), tfjs: () => import("./tfjs.js") };

/** What is known of WebGPU's objects. */
const sources = new WeakMap();
const pipelines = new WeakMap();
const groups = new WeakMap();
const passes = new WeakMap();
/** What was written to a buffer, in bytes. */
const contents = new WeakMap();

let step = { shaders: [], dispatches: [] };

/** Put `after` behind a method: it gets the object, what the method was given and what it returned. */
function watch(type, method, after) {
  const original = type.prototype[method];
  type.prototype[method] = function (...given) {
    const result = original.apply(this, given);
    after(this, given, result);
    return result;
  };
}

const source = (_device, [{ compute }], pipeline) => {
  const note = (made) => {
    const name = made.label || compute.entryPoint || "main";
    pipelines.set(made, { ...sources.get(compute.module), name });
  };
  if (pipeline instanceof Promise) pipeline.then(note);
  else note(pipeline);
};

const write = (buffer, offset, bytes) => {
  if (!contents.has(buffer)) contents.set(buffer, new Uint8Array(buffer.size));
  contents.get(buffer).set(bytes.subarray(0, buffer.size - offset), offset);
};

const bytesOf = (data, from = 0, size) => {
  const unit = data.BYTES_PER_ELEMENT ?? 1;
  const whole = data.buffer ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
  return whole.subarray(from * unit, size === undefined ? undefined : (from + size) * unit);
};

watch(GPUDevice, "createShaderModule", (_device, [{ code }], module) => sources.set(module, { code }));
watch(GPUDevice, "createComputePipeline", source);
watch(GPUDevice, "createComputePipelineAsync", source);
watch(GPUDevice, "createBindGroup", (_device, [{ entries }], group) => {
  const buffers = [...entries].map(({ binding, resource }) => {
    const { buffer, offset = 0, size } = resource.buffer ? resource : { buffer: resource };
    return { binding, buffer, offset, size: size ?? buffer.size - offset };
  });
  groups.set(group, buffers);
});
watch(GPUBuffer, "getMappedRange", (buffer, [offset = 0], range) => {
  const mapped = passes.get(buffer) ?? [];
  passes.set(buffer, [...mapped, { offset, range }]);
});
const unmap = GPUBuffer.prototype.unmap;
GPUBuffer.prototype.unmap = function () {
  for (const { offset, range } of passes.get(this) ?? []) {
    // A range that was only read may be gone by now.
    if (range.byteLength > 0) write(this, offset, new Uint8Array(range.slice(0)));
  }
  passes.delete(this);
  return unmap.call(this);
};
watch(GPUQueue, "writeBuffer", (_queue, [buffer, offset, data, from, size]) => {
  write(buffer, offset, bytesOf(data, from, size));
});
watch(GPUCommandEncoder, "copyBufferToBuffer", (_encoder, given) => {
  // The offsets may be left out.
  const [from, start, to, offset, size] = typeof given[1] === "number" ? given : [given[0], 0, given[1], 0, given[2]];
  const known = contents.get(from);
  if (known) write(to, offset, known.subarray(start, size === undefined ? undefined : start + size));
});
watch(GPUComputePassEncoder, "setPipeline", (pass, [pipeline]) => {
  passes.set(pass, { groups: [], ...passes.get(pass), pipeline });
});
watch(GPUComputePassEncoder, "setBindGroup", (pass, [index, group]) => {
  const known = { groups: [], ...passes.get(pass) };
  known.groups[index] = group;
  passes.set(pass, known);
});
GPUComputePassEncoder.prototype.dispatchWorkgroups = function (x, y = 1, z = 1) {
  const pass = passes.get(this);
  const { code, name } = pipelines.get(pass.pipeline);
  const bound = pass.groups.flatMap((group, index) => groups.get(group).map((entry) => ({ group: index, ...entry })));
  const isUniform = ({ buffer }) => (buffer.usage & GPUBufferUsage.UNIFORM) !== 0;
  const uniforms = bound.filter(isUniform).map(({ group, binding, buffer, offset, size }) => {
    const bytes = contents.get(buffer)?.subarray(offset, offset + size) ?? [];
    return { group, binding, bytes: [...bytes] };
  });
  const bytes = bound.filter((entry) => !isUniform(entry)).reduce((sum, { size }) => sum + size, 0);
  if (!step.shaders.includes(code)) step.shaders.push(code);
  step.dispatches.push({ shader: step.shaders.indexOf(code), label: name, workgroups: [x, y, z], bytes, uniforms });
};

/** The second training step: the first compiles. */
globalThis.capture = async (who, preset) => {
  const network = NETWORKS[preset];
  const pool = Array.from({ length: IMAGES * pixels(network) }, () => Math.random() - 0.5);
  const { start } = await libraries[who]();
  const training = await start({ engine: "webgpu", preset, pool });
  if (training.parameters !== parameterCount(network)) throw new Error("another network");
  await training.steps(1);
  step = { shaders: [], dispatches: [] };
  await training.steps(1);
  return { who, preset, ...step };
};
