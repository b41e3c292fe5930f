"""PyTorch on the CPU, with its fused Adam. See `steps.py`."""

import steps
from steps import BETA1, BETA2, EPSILON, IMAGES, LOG_DEVIATION, LOG_MEAN, SIGMA_DATA

import torch
from torch.nn import functional as F

torch.set_num_threads(steps.THREADS)
FREQUENCIES = torch.tensor(steps.FREQUENCIES)
# Its convolutions are faster so. To compile the step (`torch.compile`) gained nothing here.
LAYOUT = torch.channels_last


def initial(preset):
    params = {}
    for name, side, inputs, outputs, gain in steps.layers(preset):
        shape = (outputs, inputs, side, side) if side else (outputs, inputs)
        weight = gain * torch.randn(shape) / (max(side, 1) ** 2 * inputs) ** 0.5
        if side:
            weight = weight.contiguous(memory_format=LAYOUT)
        params[name] = (weight.requires_grad_(), torch.zeros(outputs, requires_grad=True))
    return params


def modulation(params, features):
    return F.linear(F.silu(F.linear(features, *params["embed"])), *params["film"])


def mlp(preset, params, x, features):
    h = F.linear(x, *params["input"])
    for i, part in enumerate(modulation(params, features).chunk(preset["depth"], 1)):
        scale, shift = part.chunk(2, 1)
        normed = h * torch.rsqrt(h.square().mean(1, keepdim=True) + 1e-6)
        h = h + F.linear(F.silu(normed * (1 + scale) + shift), *params[f"block{i}"])
    return F.linear(h, *params["output"])


def unet(preset, params, x, features):
    film = modulation(params, features)[:, :, None, None]
    size, channels, column = preset["size"], preset["channels"], 0

    def block(name, x):
        nonlocal column
        between = F.conv2d(F.silu(x), *params[f"{name}.first"], padding=1)
        width = between.shape[1]
        scale, shift = film[:, column : column + 2 * width].chunk(2, 1)
        column += 2 * width
        active = F.silu(between * (1 + scale) + shift)
        skip = params.get(f"{name}.skip")
        return F.conv2d(active, *params[f"{name}.second"], padding=1) + (F.conv2d(x, *skip) if skip else x)

    image = x.view(-1, size, size, channels).permute(0, 3, 1, 2)
    folded = F.pixel_unshuffle(image, 2).contiguous(memory_format=LAYOUT)
    h = F.conv2d(folded, *params["input"], padding=1)
    beside = []
    for level in range(preset["levels"] - 1):
        beside.append(block(f"down{level}", h))
        h = F.conv2d(beside[level], *params[f"half{level}"], stride=2, padding=1)
    h = block("bottom1", block("bottom0", h))
    for level in reversed(range(preset["levels"] - 1)):
        h = F.conv2d(F.interpolate(h, scale_factor=2), *params[f"double{level}"], padding=1)
        h = block(f"up{level}", torch.cat([h, beside[level]], 1))
    out = F.conv2d(F.silu(h) if preset["silu"] else h, *params["output"], padding=1)
    return F.pixel_shuffle(out, 2).permute(0, 2, 3, 1).reshape(x.shape)


class Training:
    def __init__(self, preset):
        torch.manual_seed(1)
        self.preset = preset
        self.params = initial(preset)
        self.flat = [part for layer in self.params.values() for part in layer]
        self.averages = [part.detach().clone() for part in self.flat]
        self.pool = SIGMA_DATA * torch.randn(IMAGES, steps.dim(preset))
        self.adam = torch.optim.Adam(
            self.flat, lr=preset["rate"], betas=(BETA1, BETA2), eps=EPSILON, fused=True
        )
        self.network = mlp if preset["kind"] == "mlp" else unet
        self.count = 0

    def loss(self):
        batch = self.preset["batch"]
        y = self.pool[torch.randint(IMAGES, (batch,))]
        log_sigma = LOG_MEAN + LOG_DEVIATION * torch.randn(batch, 1)
        sigma = log_sigma.exp()
        noise = torch.randn_like(y)
        c_in = torch.rsqrt(sigma.square() + SIGMA_DATA**2)
        target = c_in * (sigma / SIGMA_DATA * y - SIGMA_DATA * noise)
        angle = log_sigma * FREQUENCIES
        features = torch.cat([angle.cos(), angle.sin()], 1)
        return F.mse_loss(self.network(self.preset, self.params, c_in * (y + sigma * noise), features), target)

    def step(self):
        self.adam.zero_grad()
        self.loss().backward()
        if self.preset["clip"]:
            torch.nn.utils.clip_grad_norm_(self.flat, self.preset["clip"])
        self.adam.param_groups[0]["lr"] = self.preset["rate"] * min((self.count + 1) / steps.WARM_UP, 1)
        self.adam.step()
        share = 1 - min(steps.EMA_LIMIT, (1 + self.count) / (10 + self.count))
        with torch.no_grad():
            torch._foreach_lerp_(self.averages, self.flat, share)
        self.count += 1

    def wait(self):
        pass


class Multiply:
    def __init__(self, size):
        self.a = torch.randn(size, size)
        self.c = torch.empty(size, size)

    def step(self):
        torch.matmul(self.a, self.a, out=self.c)

    def wait(self):
        pass


steps.serve(Training, Multiply)
