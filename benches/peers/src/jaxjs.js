// jax-js: the whole step is one jitted function, the state never leaves the device.
//
// Arrays are counted by their owners: a function takes what it is given, `.ref` keeps it.

import {
  blockUntilReady,
  defaultDevice,
  init,
  jit,
  lax,
  nn,
  numpy as np,
  random,
  tree,
  valueAndGrad,
} from "@jax-js/jax";
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
  const available = await init(engine);
  if (!available.includes(engine)) throw new Error(`jax-js has no ${engine} here`);
  defaultDevice(engine);
  const preset = NETWORKS[name];
  const params = Object.fromEntries(layers(preset).map((layer) => [layer.name, initial(layer)]));
  const zeros = () => tree.map((w) => np.zeros(w.shape), params);
  let state = {
    momentum: zeros(),
    variance: zeros(),
    average: tree.ref(params),
    params,
    key: random.key(1),
    count: np.array([0]),
  };
  const pool = np.array(images ?? noise(preset), { shape: [IMAGES, pixels(preset)] });
  const step = jit(trainingStep(preset));
  return {
    parameters: parameterCount(preset),
    async steps(count) {
      let loss;
      for (let i = 0; i < count; i++) {
        loss?.dispose();
        [state, loss] = step(state, pool.ref);
      }
      await blockUntilReady(state);
      return (await loss.data())[0];
    },
  };
}

function initial(layer) {
  const { kernel, inputs, outputs } = layer;
  const shape = kernel ? [outputs, inputs, kernel, kernel] : [inputs, outputs];
  return [np.array(initialWeights(layer), { shape }), np.zeros([outputs])];
}

function trainingStep(preset) {
  const { batch, rate } = preset;
  const dim = pixels(preset);
  const network = preset.kind === "mlp" ? mlp(preset) : unet(preset);
  const loss = (params, x, features, target) => np.mean(np.square(network(params, x, features).sub(target)));
  return ({ params, momentum, variance, average, key, count }, pool) => {
    const keys = random.split(key, 4);
    const [ofIndex, ofSigma, ofNoise] = [0, 1, 2].map((i) => keys.ref.slice(i));
    const index = random.randint(ofIndex, { minval: 0, maxval: IMAGES, shape: [batch] });
    const y = np.take(pool, index, 0);
    const logSigma = random.normal(ofSigma, [batch, 1]).mul(EDM.logDeviation).add(EDM.logMean);
    const sigma = np.exp(logSigma.ref);
    const noise = random.normal(ofNoise, [batch, dim]);
    const cIn = np.reciprocal(np.sqrt(np.square(sigma.ref).add(EDM.sigmaData ** 2)));
    const x = cIn.ref.mul(y.ref.add(sigma.ref.mul(noise.ref)));
    const target = cIn.mul(
      sigma
        .mul(1 / EDM.sigmaData)
        .mul(y)
        .sub(noise.mul(EDM.sigmaData)),
    );
    const angle = logSigma.mul(np.array(FREQUENCIES));
    const features = np.concatenate([np.cos(angle.ref), np.sin(angle)], 1);
    const [value, gradients] = valueAndGrad(loss)(tree.ref(params), x, features, target);

    const { beta1, beta2, epsilon, warmUp, emaLimit } = ADAM;
    const next = count.ref.add(1);
    const correction = (beta) =>
      np.reciprocal(
        np
          .exp(next.ref.mul(Math.log(beta)))
          .mul(-1)
          .add(1),
      );
    const pace = np
      .minimum(next.ref.mul(1 / warmUp), 1)
      .mul(rate)
      .mul(correction(beta1));
    const spread = correction(beta2);
    const share = np
      .minimum(next.ref.div(count.add(10)), emaLimit)
      .mul(-1)
      .add(1);
    const updated = { params: {}, momentum: {}, variance: {}, average: {} };
    for (const name of Object.keys(params)) {
      for (const list of Object.values(updated)) list[name] = [];
      for (const part of [0, 1]) {
        const g = gradients[name][part];
        const m = momentum[name][part].mul(beta1).add(g.ref.mul(1 - beta1));
        const v = variance[name][part].mul(beta2).add(np.square(g).mul(1 - beta2));
        const scale = np.sqrt(v.ref.mul(spread.ref)).add(epsilon);
        const w = params[name][part].sub(m.ref.mul(pace.ref).div(scale));
        const a = average[name][part];
        updated.average[name].push(a.ref.add(w.ref.sub(a).mul(share.ref)));
        updated.params[name].push(w);
        updated.momentum[name].push(m);
        updated.variance[name].push(v);
      }
    }
    tree.dispose([pace, spread, share]);
    return [{ ...updated, key: keys.slice(3), count: next }, value];
  };
}

const linear = (x, [w, b]) => np.matmul(x, w).add(b);

/** Scales and shifts of all blocks. */
const modulation = (params, features) => linear(nn.silu(linear(features, params.embed)), params.film);

/** Those of one block: `width` columns each, from column `first` on. */
function film(all, first, width) {
  const columns = (from) => all.ref.slice([], [from, from + width]);
  return [columns(first), columns(first + width)];
}

function mlp({ width, depth }) {
  return (params, x, features) => {
    const modulated = modulation(params, features);
    let h = linear(x, params.input);
    for (let i = 0; i < depth; i++) {
      const [scale, shift] = film(modulated, 2 * width * i, width);
      const square = np.mean(np.square(h.ref), 1, { keepdims: true });
      const normed = h.ref.mul(np.reciprocal(np.sqrt(square.add(1e-6))));
      const active = nn.silu(normed.mul(scale.add(1)).add(shift));
      h = h.add(linear(active, params[`block${i}`]));
    }
    modulated.dispose();
    return linear(h, params.output);
  };
}

function conv(x, [w, b], stride = 1) {
  const bias = b.reshape([b.shape[0], 1, 1]);
  return lax.conv(x, w, [stride, stride], "SAME").add(bias);
}

/** A 1×1 convolution. */
function skip(x, [w, b]) {
  const [inputs, outputs] = w.shape;
  return conv(x, [w.transpose([1, 0]).reshape([outputs, inputs, 1, 1]), b]);
}

function unet({ size, channels = 1, width, levels = 2, silu: head, batch }) {
  const half = size / 2;
  return (params, x, features) => {
    const modulated = modulation(params, features);
    let column = 0;
    const block = (name, x, outputs) => {
      const [scale, shift] = film(modulated, column, outputs).map((part) => part.reshape([batch, outputs, 1, 1]));
      column += 2 * outputs;
      const between = conv(nn.silu(x.ref), params[`${name}.first`]);
      const active = nn.silu(between.mul(scale.add(1)).add(shift));
      const residual = params[`${name}.skip`] ? skip(x, params[`${name}.skip`]) : x;
      return conv(active, params[`${name}.second`]).add(residual);
    };
    const folded = x
      .reshape([batch, half, 2, half, 2, channels])
      .transpose([0, 2, 4, 5, 1, 3])
      .reshape([batch, 4 * channels, half, half]);
    const beside = [];
    let h = conv(folded, params.input);
    for (let level = 0; level < levels - 1; level++) {
      beside.push(block(`down${level}`, h, width * 2 ** level));
      h = conv(beside[level].ref, params[`half${level}`], 2);
    }
    h = block("bottom0", h, width * 2 ** (levels - 1));
    h = block("bottom1", h, width * 2 ** (levels - 1));
    for (let level = levels - 2; level >= 0; level--) {
      h = conv(np.repeat(np.repeat(h, 2, 2), 2, 3), params[`double${level}`]);
      h = block(`up${level}`, np.concatenate([h, beside[level]], 1), width * 2 ** level);
    }
    modulated.dispose();
    return conv(head ? nn.silu(h) : h, params.output)
      .reshape([batch, 2, 2, channels, half, half])
      .transpose([0, 4, 1, 5, 2, 3])
      .reshape([batch, size ** 2 * channels]);
  };
}
