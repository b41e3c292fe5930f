// TensorFlow.js: its own Adam, everything in one `tidy`, nothing read back between steps.

import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-webgpu";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import plain from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url";
import simd from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url";
import threaded from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url";
import {
  ADAM,
  EDM,
  FREQUENCIES,
  IMAGES,
  NETWORKS,
  initialWeights,
  layers,
  noise,
  parameterCount,
  pixels,
} from "./presets.js";

export async function start({ engine, preset: name, pool: images }) {
  setWasmPaths({
    "tfjs-backend-wasm.wasm": plain,
    "tfjs-backend-wasm-simd.wasm": simd,
    "tfjs-backend-wasm-threaded-simd.wasm": threaded,
  });
  if (!(await tf.setBackend(engine))) throw new Error(`TensorFlow.js has no ${engine} here`);
  const preset = NETWORKS[name];
  const params = Object.fromEntries(layers(preset).map((layer) => [layer.name, initial(layer)]));
  const variables = Object.values(params).flat();
  const averages = variables.map((variable) => tf.variable(variable, false));
  const pool = tf.tensor2d(images ?? noise(preset), [IMAGES, pixels(preset)]);
  const optimizer = tf.train.adam(preset.rate, ADAM.beta1, ADAM.beta2, ADAM.epsilon);
  const loss = trainingLoss(preset, params, pool);
  let done = 0;
  const step = () => {
    const { value, grads } = tf.variableGrads(loss, variables);
    optimizer.applyGradients(grads);
    const share = 1 - Math.min(ADAM.emaLimit, (1 + done) / (10 + done));
    averages.forEach((average, i) => {
      average.assign(average.add(variables[i].sub(average).mul(share)));
    });
    done += 1;
    return value;
  };
  return {
    parameters: parameterCount(preset),
    async steps(count) {
      let value;
      for (let i = 0; i < count; i++) {
        value?.dispose();
        value = tf.tidy(step);
      }
      const [last] = await value.data();
      value.dispose();
      return last;
    },
  };
}

function initial(layer) {
  const { kernel, inputs, outputs } = layer;
  const shape = kernel ? [kernel, kernel, inputs, outputs] : [inputs, outputs];
  const weight = tf.tensor(initialWeights(layer), shape);
  return [tf.variable(weight), tf.variable(tf.zeros([outputs]))];
}

function trainingLoss(preset, params, pool) {
  const { batch } = preset;
  const network = preset.kind === "mlp" ? mlp(preset) : unet(preset);
  const frequencies = tf.tensor1d(FREQUENCIES);
  return () => {
    const y = tf.gather(pool, tf.randomUniform([batch], 0, IMAGES, "int32"));
    const logSigma = tf.randomNormal([batch, 1], EDM.logMean, EDM.logDeviation);
    const sigma = logSigma.exp();
    const noise = tf.randomNormal([batch, pixels(preset)]);
    const cIn = sigma
      .square()
      .add(EDM.sigmaData ** 2)
      .rsqrt();
    const x = cIn.mul(y.add(sigma.mul(noise)));
    const target = cIn.mul(
      sigma
        .mul(1 / EDM.sigmaData)
        .mul(y)
        .sub(noise.mul(EDM.sigmaData)),
    );
    const angle = logSigma.mul(frequencies);
    const features = tf.concat([angle.cos(), angle.sin()], 1);
    return network(params, x, features).sub(target).square().mean();
  };
}

const silu = (x) => x.mul(x.sigmoid());

const linear = (x, [w, b]) => x.matMul(w).add(b);

/** Scales and shifts of all blocks. */
const modulation = (params, features) => linear(silu(linear(features, params.embed)), params.film);

/** Those of one block: `width` columns each, from column `first` on. */
const film = (all, first, width) => [first, first + width].map((from) => all.slice([0, from], [-1, width]));

function mlp({ width, depth }) {
  return (params, x, features) => {
    const modulated = modulation(params, features);
    let h = linear(x, params.input);
    for (let i = 0; i < depth; i++) {
      const [scale, shift] = film(modulated, 2 * width * i, width);
      const normed = h.mul(h.square().mean(1, true).add(1e-6).rsqrt());
      h = h.add(linear(silu(normed.mul(scale.add(1)).add(shift)), params[`block${i}`]));
    }
    return linear(h, params.output);
  };
}

function conv(x, [w, b], stride = 1) {
  // The wasm backend lacks the gradient of a filter in two dimensions, and has it in three.
  if (tf.getBackend() === "wasm") {
    const convolved = tf.conv3d(x.expandDims(1), w.expandDims(0), [1, stride, stride], "same");
    return convolved.squeeze([1]).add(b);
  }
  return tf.conv2d(x, w, stride, "same").add(b);
}

/** A 1×1 convolution. */
function skip(x, [w, b]) {
  const [batch, height, width, inputs] = x.shape;
  return linear(x.reshape([-1, inputs]), [w, b]).reshape([batch, height, width, w.shape[1]]);
}

/** Every pixel twice in both directions: not all backends have the gradient of a resize. */
function double(x) {
  const [batch, height, width, channels] = x.shape;
  const wide = tf.concat([x, x], 3).reshape([batch, height, 2 * width * channels]);
  return tf.concat([wide, wide], 2).reshape([batch, 2 * height, 2 * width, channels]);
}

function unet({ size, channels = 1, width, levels = 2, silu: head, batch }) {
  const half = size / 2;
  return (params, x, features) => {
    const modulated = modulation(params, features);
    let column = 0;
    const block = (name, x, outputs) => {
      const [scale, shift] = film(modulated, column, outputs).map((part) => part.reshape([batch, 1, 1, outputs]));
      column += 2 * outputs;
      const between = conv(silu(x), params[`${name}.first`]);
      const active = silu(between.mul(scale.add(1)).add(shift));
      const residual = params[`${name}.skip`] ? skip(x, params[`${name}.skip`]) : x;
      return conv(active, params[`${name}.second`]).add(residual);
    };
    const folded = x
      .reshape([batch, half, 2, half, 2, channels])
      .transpose([0, 1, 3, 2, 4, 5])
      .reshape([batch, half, half, 4 * channels]);
    const beside = [];
    let h = conv(folded, params.input);
    for (let level = 0; level < levels - 1; level++) {
      beside.push(block(`down${level}`, h, width * 2 ** level));
      h = conv(beside[level], params[`half${level}`], 2);
    }
    h = block("bottom0", h, width * 2 ** (levels - 1));
    h = block("bottom1", h, width * 2 ** (levels - 1));
    for (let level = levels - 2; level >= 0; level--) {
      h = conv(double(h), params[`double${level}`]);
      h = block(`up${level}`, tf.concat([h, beside[level]], 3), width * 2 ** level);
    }
    return conv(head ? silu(h) : h, params.output)
      .reshape([batch, half, half, 2, 2, channels])
      .transpose([0, 1, 3, 2, 4, 5])
      .reshape([batch, size ** 2 * channels]);
  };
}
