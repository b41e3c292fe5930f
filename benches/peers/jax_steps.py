"""JAX on the CPU: the whole step is one compiled function. See `steps.py`."""

import steps
from steps import BETA1, BETA2, EPSILON, IMAGES, LOG_DEVIATION, LOG_MEAN, SIGMA_DATA

import jax
import jax.numpy as jnp

FREQUENCIES = jnp.array(steps.FREQUENCIES)


def initial(key, preset):
    every = list(steps.layers(preset))
    params = {}
    for key, (name, side, inputs, outputs, gain) in zip(jax.random.split(key, len(every)), every):
        shape = (side, side, inputs, outputs) if side else (inputs, outputs)
        fan_in = max(side, 1) ** 2 * inputs
        params[name] = (gain * jax.random.normal(key, shape) / fan_in**0.5, jnp.zeros(outputs))
    return params


def linear(x, layer):
    weight, bias = layer
    return x @ weight + bias


def conv(x, layer, stride=1):
    weight, bias = layer
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (stride, stride), "SAME", dimension_numbers=numbers) + bias


def modulation(params, features):
    return linear(jax.nn.silu(linear(features, params["embed"])), params["film"])


def mlp(preset, params, x, features):
    h = linear(x, params["input"])
    for i, part in enumerate(jnp.split(modulation(params, features), preset["depth"], axis=1)):
        scale, shift = jnp.split(part, 2, axis=1)
        normed = h * jax.lax.rsqrt(jnp.mean(h**2, axis=1, keepdims=True) + 1e-6)
        h += linear(jax.nn.silu(normed * (1 + scale) + shift), params[f"block{i}"])
    return linear(h, params["output"])


def unet(preset, params, x, features):
    film = modulation(params, features)[:, None, None, :]
    batch, half, channels, column = len(x), preset["size"] // 2, preset["channels"], 0

    def block(name, x):
        nonlocal column
        between = conv(jax.nn.silu(x), params[f"{name}.first"])
        width = between.shape[-1]
        scale, shift = jnp.split(film[..., column : column + 2 * width], 2, axis=-1)
        column += 2 * width
        active = jax.nn.silu(between * (1 + scale) + shift)
        skip = params.get(f"{name}.skip")
        return conv(active, params[f"{name}.second"]) + (conv(x, skip) if skip else x)

    folded = x.reshape(batch, half, 2, half, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    h = conv(folded.reshape(batch, half, half, 4 * channels), params["input"])
    beside = []
    for level in range(preset["levels"] - 1):
        beside.append(block(f"down{level}", h))
        h = conv(beside[level], params[f"half{level}"], 2)
    h = block("bottom1", block("bottom0", h))
    for level in reversed(range(preset["levels"] - 1)):
        h = conv(h.repeat(2, axis=1).repeat(2, axis=2), params[f"double{level}"])
        h = block(f"up{level}", jnp.concatenate([h, beside[level]], axis=-1))
    out = conv(jax.nn.silu(h) if preset["silu"] else h, params["output"])
    out = out.reshape(batch, half, half, 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    return out.reshape(batch, -1)


def training_step(preset):
    batch = preset["batch"]
    network = mlp if preset["kind"] == "mlp" else unet

    def loss(params, x, features, target):
        return jnp.mean((network(preset, params, x, features) - target) ** 2)

    def step(state, pool):
        params, momentum, variance, average, key, count = state
        key, of_index, of_sigma, of_noise = jax.random.split(key, 4)
        y = pool[jax.random.randint(of_index, (batch,), 0, IMAGES)]
        log_sigma = LOG_MEAN + LOG_DEVIATION * jax.random.normal(of_sigma, (batch, 1))
        sigma = jnp.exp(log_sigma)
        noise = jax.random.normal(of_noise, y.shape)
        c_in = jax.lax.rsqrt(sigma**2 + SIGMA_DATA**2)
        target = c_in * (sigma / SIGMA_DATA * y - SIGMA_DATA * noise)
        angle = log_sigma * FREQUENCIES
        features = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1)
        gradients = jax.grad(loss)(params, c_in * (y + sigma * noise), features, target)

        tree = jax.tree.map
        if preset["clip"]:
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
            factor = jnp.minimum(preset["clip"] / norm, 1)
            gradients = tree(lambda g: factor * g, gradients)
        rate = preset["rate"] * jnp.minimum((count + 1) / steps.WARM_UP, 1) / (1 - BETA1 ** (count + 1))
        spread = 1 / (1 - BETA2 ** (count + 1))
        share = 1 - jnp.minimum(steps.EMA_LIMIT, (1 + count) / (10 + count))
        momentum = tree(lambda m, g: BETA1 * m + (1 - BETA1) * g, momentum, gradients)
        variance = tree(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, variance, gradients)
        params = tree(
            lambda w, m, v: w - rate * m / (jnp.sqrt(spread * v) + EPSILON),
            params, momentum, variance,
        )
        average = tree(lambda a, w: a + share * (w - a), average, params)
        return params, momentum, variance, average, key, count + 1

    return jax.jit(step, donate_argnums=0)


class Training:
    def __init__(self, preset):
        params = initial(jax.random.key(1), preset)
        zeros = jax.tree.map(jnp.zeros_like, params)
        copy = jax.tree.map(jnp.copy, (zeros, params))
        self.pool = SIGMA_DATA * jax.random.normal(jax.random.key(3), (IMAGES, steps.dim(preset)))
        self.compiled = training_step(preset)
        self.state = (params, zeros, *copy, jax.random.key(2), jnp.float32(0))

    def step(self):
        self.state = self.compiled(self.state, self.pool)

    def wait(self):
        jax.block_until_ready(self.state)


class Multiply:
    def __init__(self, size):
        self.a = jax.random.normal(jax.random.key(4), (size, size))
        self.compiled = jax.jit(jnp.matmul)

    def step(self):
        self.c = self.compiled(self.a, self.a)

    def wait(self):
        self.c.block_until_ready()


steps.serve(Training, Multiply)
