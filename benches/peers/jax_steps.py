"""Steps per second of JAX on the CPU for the MLP presets, and GFLOP/s of its matrix multiply.

    python jax_steps.py THREADS

The same step as ours: draw images, noise levels and noise; forward; backward; Adam; moving average.
"""

import os
import sys
import time

threads = int(sys.argv[1])
if hasattr(os, "sched_setaffinity"):
    # JAX takes as many threads as it may use cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

IMAGES, SIZE, FEATURES, EMBEDDING, DEPTH = 256, 12, 32, 64, 2
SIGMA_DATA, LOG_MEAN, LOG_DEVIATION = 0.5, -0.6, 1.0
BETA1, BETA2, EPSILON, RATE, WARM_UP, EMA_LIMIT = 0.9, 0.99, 1e-8, 4e-3, 100, 0.99
FREQUENCIES = 2 ** jnp.linspace(-1, 4, 16) * jnp.pi / 8
PRESETS = {"quick": (192, 32), "main": (384, 64)}
MEASURED = 2.0


def linear(x, layer):
    weight, bias = layer
    return x @ weight + bias


def initial(key, width):
    dim = SIZE**2
    sizes = {
        "embed": (FEATURES, EMBEDDING, 1.0),
        "film": (EMBEDDING, 2 * width * DEPTH, 0.3),
        "input": (dim, width, 1.0),
        **{f"block{i}": (width, width, 1.0) for i in range(DEPTH)},
        "output": (width, dim, 0.01),
    }
    keys = jax.random.split(key, len(sizes))
    return {
        name: (gain * jax.random.normal(k, (rows, cols)) / rows**0.5, jnp.zeros(cols))
        for k, (name, (rows, cols, gain)) in zip(keys, sizes.items())
    }


def network(params, x, features):
    film = linear(jax.nn.silu(linear(features, params["embed"])), params["film"])
    h = linear(x, params["input"])
    for i, part in enumerate(jnp.split(film, DEPTH, axis=1)):
        scale, shift = jnp.split(part, 2, axis=1)
        normed = h * jax.lax.rsqrt(jnp.mean(h**2, axis=1, keepdims=True) + 1e-6)
        h += linear(jax.nn.silu(normed * (1 + scale) + shift), params[f"block{i}"])
    return linear(h, params["output"])


def training_step(batch):
    def loss(params, x, features, target):
        return jnp.mean((network(params, x, features) - target) ** 2)

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

        rate = RATE * jnp.minimum((count + 1) / WARM_UP, 1) / (1 - BETA1 ** (count + 1))
        spread = 1 / (1 - BETA2 ** (count + 1))
        share = 1 - jnp.minimum(EMA_LIMIT, (1 + count) / (10 + count))
        tree = jax.tree.map
        momentum = tree(lambda m, g: BETA1 * m + (1 - BETA1) * g, momentum, gradients)
        variance = tree(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, variance, gradients)
        params = tree(
            lambda w, m, v: w - rate * m / (jnp.sqrt(spread * v) + EPSILON),
            params, momentum, variance,
        )
        average = tree(lambda a, w: a + share * (w - a), average, params)
        return params, momentum, variance, average, key, count + 1

    return jax.jit(step, donate_argnums=0)


def best(work):
    """Seconds of the fastest call of several: the machine may be busy with other things."""
    work()
    fastest, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < MEASURED:
        before = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - before)
    return fastest


def main():
    for name, (width, batch) in PRESETS.items():
        params = initial(jax.random.key(1), width)
        zeros = jax.tree.map(jnp.zeros_like, params)
        copy = jax.tree.map(jnp.copy, (zeros, params))
        pool = SIGMA_DATA * jax.random.normal(jax.random.key(3), (IMAGES, SIZE**2))
        step = training_step(batch)
        state = [(params, zeros, *copy, jax.random.key(2), jnp.float32(0))]

        def ten_steps():
            for _ in range(10):
                state[0] = step(state[0], pool)
            jax.block_until_ready(state[0])

        print(f"{name}\t{10 / best(ten_steps)}", flush=True)

    size = 1024
    a = jax.random.normal(jax.random.key(4), (size, size))
    multiply = jax.jit(jnp.matmul)
    seconds = best(lambda: multiply(a, a).block_until_ready())
    print(f"matmul\t{2e-9 * size**3 / seconds}", flush=True)


main()
