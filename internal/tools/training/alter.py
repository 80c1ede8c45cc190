"""Alters crops of faces as other cameras, scanners, surroundings and mornings
might have shown them. Crops carry an eighth of their side on each side for it."""
import math

import numpy as np
import torch
import torch.nn.functional as F

import drawings

SIDE, WIDE = 224, 280  # of the network's input, and of a stored crop
PLAIN_SHARE, LATE_PLAIN = 0.15, 0.5  # of the pictures are shown as they are, or mirrored; towards the end, more
between = drawings.between
LUMA = torch.tensor([0.299, 0.587, 0.114])


def plain(crops):
    edge = (WIDE - SIDE) // 2
    return crops[..., edge : edge + SIDE, edge : edge + SIDE].float()


def alter(crop, points, frame, random, plain_share=PLAIN_SHARE):
    """One crop, altered: 3×224×224 floats from 0 to 255. `points` are its landmarks
    in pixels; `frame` is where the picture itself lies, see Frame."""
    if random.random() < plain_share:
        x = plain(crop)
        return x.flip(2) if random.random() < 0.5 else x
    x = cut(drawings.draw(crop.float(), points, random), frame, random)
    often = lambda share: random.random() < share  # noqa: E731
    if often(0.25):
        x = side_light(x, random)
    scan = often(0.25)
    if scan:
        x = as_scan(x, random)
    else:
        if often(0.45):
            x = coarsen(x, between(random, 0.3, 0.9))
        if often(0.1):
            x = luma_of(x).expand(3, -1, -1)
    x = relight(x, random, grey=not scan and often(0.2))
    if often(0.3):
        x = x + torch.randn(x.shape, generator=torch_random(random)) * between(random, 1, 8)
    if often(0.3):
        x = recompress(x.clamp(0, 255), int(random.integers(15, 65)))
    return x.clamp(0, 255)


def torch_random(random):
    return torch.Generator().manual_seed(int(random.integers(1 << 62)))


class Frame:
    """Where the picture lies in a crop's own coordinates, from -1 to 1 over the
    224 pixels: `to` takes these to pixels of the frame, `inner` is the picture
    within its border, in pixels of the frame."""

    def __init__(self, x, y, side, angle, inner):
        self.x, self.y, self.half, self.angle, self.inner = x, y, side / 2, angle, inner

    def remap(self, u, v, way, inner):
        """Moves points that lie outside the picture to points within it."""
        cos, sin = math.cos(self.angle) * self.half, math.sin(self.angle) * self.half
        x, y = self.x + u * cos - v * sin, self.y + u * sin + v * cos
        left, top, right, bottom = inner
        outside = (x < left) | (x > right) | (y < top) | (y > bottom)
        if way == "mirrored":
            x, y = left + fold(x - left, right - left), top + fold(y - top, bottom - top)
        x, y = x.clamp(left + 1, right - 1) - self.x, y.clamp(top + 1, bottom - 1) - self.y
        scale = self.half**2
        return (x * cos + y * sin) / scale, (y * cos - x * sin) / scale, outside


def fold(v, length):
    """A point's place after mirrors at 0 and at length."""
    return length - ((v.abs() % (2 * length)) - length).abs()


def cut(crop, frame, random):
    """The crop turned, scaled, shifted and mirrored a little, in other surroundings."""
    turn = math.radians(between(random, -12, 12)) * random.random()
    zoom = math.exp(between(random, -0.12, 0.12))
    stretch = math.exp(between(random, -0.05, 0.05))
    mirror = -1 if random.random() < 0.5 else 1
    a = torch.linspace(-1 + 1 / SIDE, 1 - 1 / SIDE, SIDE)
    v, u = torch.meshgrid(a * zoom / stretch, a * zoom * stretch, indexing="ij")
    u = u * mirror
    cos, sin = math.cos(turn), math.sin(turn)
    u, v = u * cos - v * sin + between(random, -0.08, 0.08), u * sin + v * cos + between(random, -0.08, 0.08)
    colour = None
    if random.random() < 0.5:  # other surroundings
        left, top, right, bottom = frame.inner
        width, height = right - left, bottom - top
        if random.random() < 0.5:  # the picture is cut tightly, as face sets are
            face = frame.half / 1.4  # half of the face's box
            reach = [face * between(random, 0.85, 1.4) for _ in range(4)]
            left, right = max(left, frame.x - reach[0]), min(right, frame.x + reach[1])
            top, bottom = max(top, frame.y - reach[2]), min(bottom, frame.y + reach[3])
        elif random.random() < 0.5:  # a little is lost at each side
            loss = [between(random, 0, 0.06) for _ in range(4)]
            left, right = left + loss[0] * width, right - loss[1] * width
            top, bottom = top + loss[2] * height, bottom - loss[3] * height
        if right - left > 8 and bottom - top > 8:
            way = random.choice(["grey", "black", "colour", "mirrored", "drawn out", "drawn out"])
            u, v, outside = frame.remap(u, v, way, (left, top, right, bottom))
            colour = {"grey": (128.0,) * 3, "black": (0.0,) * 3}.get(way)
            if way == "colour":
                colour = tuple(random.uniform(0, 255, 3)) if random.random() < 0.5 else (between(random, 0, 255),) * 3
    points = torch.stack([u, v], 2)[None] * (SIDE / WIDE)
    x = F.grid_sample(crop[None], points, mode="bilinear", padding_mode="border", align_corners=False)[0]
    if colour is not None:
        x = torch.where(outside[None], torch.tensor(colour, dtype=torch.float32)[:, None, None], x)
    return x


def coarsen(x, share):
    small = max(16, int(SIDE * share))
    x = F.interpolate(x[None], size=(small, small), mode="bilinear", align_corners=False, antialias=True)
    return F.interpolate(x, size=(SIDE, SIDE), mode="bilinear", align_corners=False)[0]


def luma_of(x):
    return (x * LUMA[:, None, None]).sum(0, keepdim=True)


def as_scan(x, random):
    """An old print on a scanner: grey, brownish or of faded colours, flat, soft,
    with coarse grain."""
    x = coarsen(x, between(random, 0.3, 0.9))
    luma = luma_of(x)
    kind = random.random()
    if kind < 0.35:  # grey or sepia
        brown = max(0.0, between(random, -0.15, 0.2))
        x = luma * torch.tensor([1 + brown / 2, 1, 1 - brown])[:, None, None]
    else:  # dyes fade unequally
        x = luma + between(random, 0.3, 1.1) * (x - luma)
        gain = torch.tensor([between(random, 0.9, 1.25), between(random, 0.85, 1.1), between(random, 0.65, 1.1)])
        lift = torch.tensor([between(random, 0, 35), between(random, 0, 20), between(random, 0, 25)])
        x = x * gain[:, None, None] + lift[:, None, None]
    black, white = between(random, 0, 60), between(random, 190, 255)
    x = black + (white - black) * x / 255
    if random.random() < 0.7:  # grain, as coarse as the print was small
        cells = int(SIDE / between(random, 1, 3.5))
        grain = torch.randn(1, 1, cells, cells, generator=torch_random(random)) * between(random, 2, 14)
        x = x + F.interpolate(grain, size=(SIDE, SIDE), mode="bilinear", align_corners=False)[0]
    return x


def side_light(x, random):
    angle, strength = between(random, 0, 2 * math.pi), between(random, 0.3, 0.7) * 1.6
    a = torch.linspace(-0.5, 0.5, SIDE)
    return x * (1 + strength * (math.cos(angle) * a[None, :] + math.sin(angle) * a[:, None]))


def relight(x, random, grey):
    gamma = math.exp(between(random, -0.45, 0.45))
    contrast = between(random, 0.7, 1.3)
    gains = torch.tensor([between(random, 0.85, 1.2), between(random, 0.94, 1.06), between(random, 0.75, 1.15)])
    if grey:
        gains = torch.ones(3)
    tones = (255 * (torch.arange(256) / 255) ** gamma - 128) * contrast + 128
    return tones[x.clamp(0, 255).long()] * gains[:, None, None]


def dct():
    k = torch.arange(8.0)
    m = torch.cos((2 * k[None] + 1) * k[:, None] * math.pi / 16) / 2
    m[0] /= math.sqrt(2)
    return torch.kron(m, m)  # of a block of 64


DCT = dct()
QUANTA = torch.tensor(np.array([
    [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99]]).reshape(64), dtype=torch.float32)
TO_YCC = torch.tensor([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
FROM_YCC = torch.linalg.inv(TO_YCC)


def recompress(x, quality):
    """What a JPEG of the quality leaves, its chroma at half the resolution."""
    scale = 50 / quality if quality < 50 else 2 - quality / 50
    quanta = (QUANTA * scale).round().clamp(1, 255)
    ycc = torch.einsum("ij,jhw->ihw", TO_YCC, x)
    luma = quantised(ycc[:1] - 128, quanta) + 128
    chroma = F.avg_pool2d(ycc[None, 1:], 2)[0]
    chroma = quantised(chroma, quanta * 1.3)
    chroma = chroma.repeat_interleave(2, 1).repeat_interleave(2, 2)
    return torch.einsum("ij,jhw->ihw", FROM_YCC, torch.cat([luma, chroma]))


def quantised(x, quanta):
    c, h, w = x.shape
    blocks = x.reshape(c, h // 8, 8, w // 8, 8).permute(0, 1, 3, 2, 4).reshape(-1, 64)
    blocks = ((blocks @ DCT.T / quanta).round() * quanta) @ DCT
    return blocks.reshape(c, h // 8, w // 8, 8, 8).permute(0, 1, 3, 2, 4).reshape(c, h, w)
