"""The material that `agegate-lab crops` wrote, and a process that makes
altered views of it and sends their feature maps to the training."""
import csv
import itertools

import numpy as np
import torch
import torch.multiprocessing as mp

import alter
import network
import readings

BATCH = 32


class Faces:
    """Crops, labels, and which pictures are held out."""

    def __init__(self, directory):
        self.crops = np.memmap(directory / "crops.u8", np.uint8, "r").reshape(-1, 3, alter.WIDE, alter.WIDE)
        self.points = np.memmap(directory / "points.f32", np.float32, "r").reshape(-1, 468, 2)
        with open(directory / "pictures.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.files = [row["file"] for row in rows]
        self.groups = [row["group"] for row in rows]
        self.collections = np.array([row["collection"] for row in rows])
        self.ages = np.array([int(row["age"]) for row in rows])
        self.held = np.array([row["held"] == "1" for row in rows])
        self.rows = np.array([int(row["row"]) for row in rows])
        self.frames = [alter.Frame(*(float(row[k]) for k in ("x", "y", "side", "angle")),
                                   [float(row[k]) for k in ("left", "top", "right", "bottom")]) for row in rows]

    def crop(self, i):
        return torch.from_numpy(self.crops[self.rows[i]].copy())

    def landmarks(self, i):
        """In pixels of the crop."""
        return np.array(self.points[self.rows[i]]) * (alter.SIDE / 2) + alter.WIDE / 2


RARITY = 0.75
OFTENEST = 8  # times a picture is shown in a round, at most


def weights_of(ages, collections, groups):
    """How often a picture is shown. The rarer its age is in its collection, the more
    often, by the power RARITY of the frequency, smoothed over five years: with one
    frequency for all collections, those of many adults would teach that their minors
    are older than they are. Then every group and sex weighs alike in each age range,
    so that a rare group is learned too and none of them means an age."""
    weight = np.empty(len(ages))
    for name in set(collections):
        here = collections == name
        count = np.bincount(ages[here], minlength=network.AGES + 2).astype(float)
        smooth = np.convolve(count, np.ones(5) / 5, "same")
        found = np.maximum(smooth[ages[here]], 1) ** -RARITY
        weight[here] = found / found.mean()
    groups = np.array(groups)
    for low, high in readings.BANDS:
        band = (ages >= low) & (ages <= high)
        parts = [band & (groups == name) for name in sorted(set(groups[band]))]
        total = weight[band].sum()
        for part in parts:
            weight[part] *= total / len(parts) / weight[part].sum()
    return np.minimum(weight, OFTENEST)


def order_of(weight, random):
    """One round: each picture as often as its weight says, at random where that
    is no whole number, in random order."""
    times = np.floor(weight + random.random(len(weight))).astype(int)
    return random.permutation(np.repeat(np.arange(len(weight)), times))


def fill(queue, directory, stock, chosen, seed, fast, late):
    """Sends batches without end: feature maps and the pictures they are of. From
    the batch `late` on, more of the pictures are shown as they are."""
    torch.set_num_threads(1)
    faces, random = Faces(directory), np.random.default_rng(seed)
    front = network.Front(network.stock_layers(stock), torch.bfloat16 if fast else torch.float32)
    weight, order = weights_of(faces.ages[chosen], faces.collections[chosen], [faces.groups[i] for i in chosen]), np.empty(0, int)
    for made in itertools.count():
        while len(order) < BATCH:
            order = np.concatenate([order, order_of(weight, random)])
        batch, order = chosen[order[:BATCH]], order[BATCH:]
        share = alter.LATE_PLAIN if made >= late else alter.PLAIN_SHARE
        crops = torch.stack([alter.alter(faces.crop(i), faces.landmarks(i), faces.frames[i], random, share) for i in batch])
        queue.put((front(crops), torch.from_numpy(batch)))


class Feed:
    """Batches from processes of their own, which end with this one. The same seed
    and number of them give the same batches."""

    def __init__(self, directory, stock, chosen, seed, fast, workers, late):
        context = mp.get_context("spawn")
        self.queues = [context.Queue(4) for _ in range(workers)]
        self.workers = [context.Process(target=fill, args=(q, directory, stock, chosen, seed * 1000 + n, fast, late // workers), daemon=True)
                        for n, q in enumerate(self.queues)]
        for worker in self.workers:
            worker.start()
        self.next = 0

    def batch(self):
        found = self.queues[self.next].get(timeout=600)
        self.next = (self.next + 1) % len(self.queues)
        return found

    def close(self):
        for worker in self.workers:
            worker.kill()
