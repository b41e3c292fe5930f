"""What the training steps of all Python peers have in common: networks, settings, and how they are measured.

    python NAME_steps.py THREADS

A program reads lines of a row's name and seconds, takes that turn, and prints the rate: steps per second of a
preset, or GFLOP/s of a matrix multiply. So `cargo xtask bench` can let several programs take turns.

The same step as ours: draw images, noise levels and noise; forward; backward; Adam; moving average.
"""

import math
import os
import sys
import time

THREADS = int(sys.argv[1])
# Before a library is imported: some take as many threads as they may use cores.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[variable] = str(THREADS)

IMAGES, FEATURES, EMBEDDING = 256, 32, 64
SIGMA_DATA, LOG_MEAN, LOG_DEVIATION = 0.5, -0.6, 1.0
BETA1, BETA2, EPSILON, WARM_UP, EMA_LIMIT = 0.9, 0.99, 1e-8, 100, 0.99
FREQUENCIES = [2 ** (j / 3 - 1) * math.pi / 8 for j in range(FEATURES // 2)]

MLP = {"kind": "mlp", "size": 12, "channels": 1, "depth": 2, "rate": 4e-3, "clip": None}
UNET = {"kind": "unet", "size": 16, "channels": 1, "levels": 2, "batch": 64, "rate": 2e-3, "clip": None, "silu": False}
COLOUR = UNET | {"size": 32, "channels": 3, "levels": 3, "clip": 1.0, "silu": True}
PRESETS = {
    "quick": MLP | {"width": 192, "batch": 32},
    "main": MLP | {"width": 384, "batch": 64},
    "faithful": UNET | {"width": 16},
    "cifar-quick": COLOUR | {"width": 16},
    "cifar": COLOUR | {"width": 32},
}
MATMULS = {"matmul-1024": 1024, "matmul-2048": 2048}


def dim(preset):
    return preset["size"] ** 2 * preset["channels"]


def layers(preset):
    """Name, side of the kernel (0 for a matrix), inputs, outputs, size of the initial weights."""
    width = preset["width"]
    if preset["kind"] == "mlp":
        film = 2 * width * preset["depth"]
        yield "input", 0, dim(preset), width, 1.0
        for i in range(preset["depth"]):
            yield f"block{i}", 0, width, width, 1.0
        yield "output", 0, width, dim(preset), 0.01
    else:
        bottom = preset["levels"] - 1
        wide = [width << level for level in range(bottom + 1)]
        film = 4 * sum(wide)

        def block(name, inputs, outputs):
            yield f"{name}.first", 3, inputs, outputs, 1.0
            yield f"{name}.second", 3, outputs, outputs, 0.3
            if inputs != outputs:
                yield f"{name}.skip", 1, inputs, outputs, 1.0

        yield "input", 3, 4 * preset["channels"], width, 1.0
        for level in range(bottom):
            yield from block(f"down{level}", wide[level], wide[level])
            yield f"half{level}", 3, wide[level], wide[level + 1], 1.0
        for i in range(2):
            yield from block(f"bottom{i}", wide[bottom], wide[bottom])
        for level in range(bottom):
            yield f"double{level}", 3, wide[level + 1], wide[level], 1.0
            yield from block(f"up{level}", 2 * wide[level], wide[level])
        yield "output", 3, width, 4 * preset["channels"], 0.01
    yield "embed", 0, FEATURES, EMBEDDING, 1.0
    yield "film", 0, EMBEDDING, film, 0.3


def count_parameters(preset):
    return sum((max(side, 1) ** 2 * inputs + 1) * outputs for _, side, inputs, outputs, _ in layers(preset))


assert [count_parameters(PRESETS[name]) for name in ("faithful", "cifar-quick", "cifar")] == [74_132, 289_052, 1_083_372]


def best(work, seconds):
    """Calls per second of the fastest of several: the machine may be busy with other things."""
    fastest, start = math.inf, time.perf_counter()
    count = 1
    while time.perf_counter() - start < seconds:
        before = time.perf_counter()
        for _ in range(count):
            work.step()
        work.wait()
        elapsed = time.perf_counter() - before
        fastest = min(fastest, elapsed / count)
        if elapsed < 0.02:
            count *= 2
    return 1 / fastest


def serve(training, multiply):
    """Takes the turns that standard input asks for. Both arguments make something with `step` and `wait`."""
    entered = {}
    for line in sys.stdin:
        name, seconds = line.split()
        scale = 1.0
        if name in PRESETS and training:
            make = lambda: training(PRESETS[name])
        elif name in MATMULS:
            make = lambda: multiply(MATMULS[name])
            scale = 2e-9 * MATMULS[name] ** 3
        else:
            print("nan", flush=True)
            continue
        if name not in entered:
            entered[name] = make()
            # Whatever is compiled, tuned or allocated at first does not count.
            for _ in range(3):
                entered[name].step()
            entered[name].wait()
        print(scale * best(entered[name], float(seconds)), flush=True)
