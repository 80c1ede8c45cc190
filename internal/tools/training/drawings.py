"""Draws on faces what changes how old they look: make-up, glasses, beards, wrinkles,
retouched skin, fringes, hard and dim light. Adults and minors get them alike, so
that they tell nothing about an age. A face is a crop of 3×280×280 floats with its
landmarks in pixels, numbered as in MediaPipe's canonical face mesh."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw, ImageFilter

OVAL = [10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148, 176, 149,
        150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109]
LIPS = [61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185]
MOUTH = [78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191]
BEARD = [93, 132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361, 323, 410, 327, 2, 98, 186]
BROWS = [70, 63, 105, 66, 107, 55, 65, 52, 53, 46], [300, 293, 334, 296, 336, 285, 295, 282, 283, 276]
LIDS = [33, 246, 161, 160, 159, 158, 157, 173, 133, 55, 65, 52, 53, 46], [263, 466, 388, 387, 386, 385, 384, 398, 362, 285, 295, 282, 283, 276]
EYES = [33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246], [263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466]
LASHES = [33, 246, 161, 160, 159, 158, 157, 173, 133], [263, 466, 388, 387, 386, 385, 384, 398, 362]
FOLDS = [129, 203, 206, 216, 212], [358, 423, 426, 436, 432]  # from the nose past the mouth
BAGS = [226, 31, 228, 229, 230, 231, 232], [446, 261, 448, 449, 450, 451, 452]
BROW_LINE = [70, 63, 105, 66, 107, 9, 336, 296, 334, 293, 300]
HAIR_LINE = [21, 54, 103, 67, 109, 10, 338, 297, 332, 284, 251]
CORNERS = (33, 133), (263, 362)  # outer and inner, of each eye
CHEEKS = 50, 280


def between(random, low, high):
    return float(random.uniform(low, high))


class Face:
    def __init__(self, pixels, points, random):
        self.x, self.points, self.random = pixels, points, random
        self.width = float(np.hypot(*(points[234] - points[454])))

    def area(self, *outlines, soft=0.006, without=()):
        """Where the outlines are, from 0 to 1, with soft edges."""
        image = Image.new("L", self.x.shape[:0:-1])
        draw = ImageDraw.Draw(image)
        for shade, shapes in ((255, outlines), (0, without)):
            for shape in shapes:
                draw.polygon([tuple(p) for p in self.points[list(shape)]], fill=shade)
        return self.softened(image, soft)

    def strokes(self, lines, thick, soft=0.005, faint=1.0):
        """Where lines of points are, each at random as strong as faint or more."""
        image = Image.new("L", self.x.shape[:0:-1])
        draw = ImageDraw.Draw(image)
        for line in lines:
            strength = round(255 * between(self.random, faint, 1))
            draw.line([tuple(p) for p in line], fill=strength, width=max(1, round(thick * self.width)))
        return self.softened(image, soft)

    def softened(self, image, soft):
        image = image.filter(ImageFilter.GaussianBlur(soft * self.width))
        return torch.from_numpy(np.asarray(image, np.float32) / 255)

    def paint(self, mask, colour, opacity=1.0):
        if not torch.is_tensor(colour):
            colour = torch.tensor(colour, dtype=torch.float32)[:, None, None]
        self.x = self.x + (mask * opacity)[None] * (colour - self.x)

    def line(self, indices):
        return self.points[list(indices)]

    def skin(self):
        return self.area(OVAL, without=(*EYES, *BROWS, LIPS), soft=0.02)


def retouch(f, share):
    small = max(24, int(36 / f.width * f.x.shape[-1]))
    soft = F.interpolate(f.x[None], size=(small, small), mode="bilinear", align_corners=False, antialias=True)
    soft = F.interpolate(soft, size=f.x.shape[1:], mode="bicubic", align_corners=False)[0]
    f.paint(f.skin(), soft, share)


def make_up(f):
    """Skin, brows, lashes, lids, lips and cheeks: each of them or not, at random
    strength."""
    r = f.random
    if r.random() < 0.6:
        retouch(f, between(r, 0.2, 0.9))
    if r.random() < 0.5:
        f.paint(f.skin(), (255, between(r, 220, 245), between(r, 205, 240)), between(r, 0.05, 0.3))
    dark = [between(r, 10, 70), between(r, 8, 60), between(r, 8, 70)]
    if r.random() < 0.7:
        f.paint(f.area(*BROWS), dark, between(r, 0.15, 0.7))
    if r.random() < 0.7:
        shadow = [between(r, 20, 150), between(r, 15, 110), between(r, 15, 140)]
        f.paint(f.area(*LIDS, soft=between(r, 0.005, 0.03)), shadow, between(r, 0.1, 0.55))
    if r.random() < 0.8:
        f.paint(f.strokes([f.line(l) for l in LASHES], between(r, 0.006, 0.022)), dark, between(r, 0.3, 0.95))
    if r.random() < 0.75:
        f.paint(f.area(LIPS, without=(MOUTH,)), (between(r, 100, 225), between(r, 15, 110), between(r, 25, 120)), between(r, 0.15, 0.8))
    if r.random() < 0.5:
        y, x = torch.meshgrid(*(torch.arange(float(n)) for n in f.x.shape[1:]), indexing="ij")
        for cheek in CHEEKS:
            px, py = f.points[cheek]
            f.paint((1 - torch.hypot(x - px, y - py) / (0.17 * f.width)).clamp(min=0), (215, 95, 100), between(r, 0.05, 0.35))


def glasses(f):
    r = f.random
    eyes = [f.line(outline).mean(0) for outline in EYES]
    apart = float(np.hypot(*(eyes[1] - eyes[0])))
    across, tall = apart * between(r, 0.33, 0.46), between(r, 0.62, 1)
    power, lines = between(r, 2, 5), []  # rounder or squarer
    turns = np.linspace(0, 2 * math.pi, 33)
    for eye in eyes:
        sin, cos = np.sin(turns), np.cos(turns)
        rim = np.stack([np.sign(cos) * np.abs(cos) ** (2 / power), tall * np.sign(sin) * np.abs(sin) ** (2 / power)], 1)
        lines.append(eye + across * rim)
    toward = (eyes[1] - eyes[0]) / apart
    lift = np.array([toward[1], -toward[0]]) * 0.1 * apart
    lines.append(np.stack([eyes[0] + across * toward + lift, eyes[1] - across * toward + lift]))
    for eye, side, way in ((eyes[0], 234, -1), (eyes[1], 454, 1)):
        lines.append(np.stack([eye + way * across * toward, f.points[side]]))
    tint = f.softened(filled(f, lines[:2]), 0.004)
    f.paint(tint, [between(r, 0, 255)] * 3, between(r, 0, 0.2))
    shade = between(r, 5, 120)
    f.paint(f.strokes(lines, between(r, 0.01, 0.035), 0.003), (shade, shade * between(r, 0.6, 1), shade * between(r, 0.4, 1)), between(r, 0.6, 1))


def filled(f, outlines):
    image = Image.new("L", f.x.shape[:0:-1])
    for outline in outlines:
        ImageDraw.Draw(image).polygon([tuple(p) for p in outline], fill=255)
    return image


def beard(f):
    r = f.random
    hair = torch.tensor([between(r, 10, 80), between(r, 8, 65), between(r, 6, 55)])[:, None, None]
    grain = torch.from_numpy(r.uniform(0.4, 1.4, f.x.shape[1:]).astype(np.float32))
    mask = f.area(BEARD, without=(LIPS,) if r.random() < 0.8 else (), soft=between(r, 0.005, 0.04))
    f.paint((mask * grain).clamp(0, 1), hair * (0.8 + 0.2 * grain), between(r, 0.15, 0.9))


def wrinkles(f):
    r, w, lines = f.random, f.width, []
    brows, hair = f.line(BROW_LINE), f.line(HAIR_LINE)
    for at in np.arange(0.25, 0.8, between(r, 0.15, 0.3)):
        line = brows + at * (hair - brows)
        lines.append(line[1:-1] + r.uniform(-0.006, 0.006, (len(line) - 2, 2)) * w)
    for i in (107, 336):
        lines.append(np.stack([f.points[i] + (0, 0.02 * w), f.points[i] - (0, between(r, 0.04, 0.08) * w)]))
    lines += [f.line(l) for l in (*FOLDS, *BAGS)]
    for outer, inner in CORNERS:
        way = f.points[outer] - f.points[inner]
        for turn in (-0.45, 0, 0.45):
            sin, cos = math.sin(turn), math.cos(turn)
            ray = np.array([way[0] * cos - way[1] * sin, way[0] * sin + way[1] * cos])
            lines.append(np.stack([f.points[outer] + 0.25 * ray, f.points[outer] + between(r, 0.45, 0.8) * ray]))
    lines = [line for line in lines if r.random() < 0.85]
    mask = f.strokes(lines, between(r, 0.006, 0.02), 0.006, faint=0.3)
    f.paint(mask, f.x * torch.tensor([0.45, 0.4, 0.38])[:, None, None], between(r, 0.25, 0.7))


def all_three(f):
    wrinkles(f)
    beard(f)
    glasses(f)


def retouched(f):
    retouch(f, between(f.random, 0.4, 1))


def fringe(f):
    r, w = f.random, f.width
    hair, brows = f.line(HAIR_LINE), f.line(BROW_LINE)
    columns = np.linspace(0, 1, 41)
    along = lambda line: np.stack([np.interp(columns, np.linspace(0, 1, len(line)), line[:, k]) for k in (0, 1)], 1)  # noqa: E731
    low = along(brows) + (0, 1) * r.uniform(-0.03, 0.03, (41, 1)) * w + (0, between(r, -0.03, 0.06) * w)
    top = along(hair) - (0, 0.12 * w)
    shade = between(r, 8, 140)
    strands = torch.from_numpy(r.uniform(0.7, 1.2, (1, f.x.shape[-1])).astype(np.float32)).expand(f.x.shape[1:])
    colour = torch.tensor([shade, shade * between(r, 0.65, 1), shade * between(r, 0.4, 1)])[:, None, None] * strands
    f.paint(f.softened(filled(f, [np.concatenate([top, low[::-1]])]), 0.004), colour, between(r, 0.75, 1))


def hard_light(f):
    r = f.random
    side = -1 if r.random() < 0.5 else 1
    x = torch.arange(float(f.x.shape[-1]))
    lit = torch.sigmoid(side * (x - float(f.points[1, 0])) / (between(r, 0.05, 0.25) * f.width))
    shadow = between(r, 0.3, 0.65)
    f.x = f.x * (shadow + (1.1 - shadow) * lit)


def dim_light(f):
    r = f.random
    f.x = 255 * (f.x.clamp(0, 255) / 255) ** between(r, 1.3, 2.3) * between(r, 0.7, 1)


OFTEN = [(make_up, 0.3), (wrinkles, 0.15), (glasses, 0.15), (beard, 0.15), (all_three, 0.16), (retouched, 0.08),
         (fringe, 0.08), (hard_light, 0.08), (dim_light, 0.08)]


def draw(pixels, points, random):
    """The crop with some of the drawings, or none."""
    f = Face(pixels, points, random)
    for drawing, share in OFTEN:
        if random.random() < share:
            drawing(f)
    return f.x.clamp(0, 255)
