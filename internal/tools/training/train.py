#!/usr/bin/python3
"""Fine-tunes the second half of the age network on labelled faces.

Reads what `agegate-lab crops` wrote, trains on the pictures that are not held out,
reports on those that are, fits a scale to them, and writes an ONNX model: a tail
that goes on from the feature map of the stock network's block 6. See
proof/training.md.
"""
import argparse
import csv
import datetime
import hashlib
import json
import math
import os
import pathlib
import time

import numpy as np
import torch
import torch.nn as nn

import alter
import eightbit
import feed
import network
import readings

AGES = network.AGES
WARM_UP = 100  # steps
FITTED = 128  # pictures from which the rounding to eight bits is corrected
GLANCE = 1000  # held-out pictures that the reports on the way are about, at most
LATE = 0.8  # of the training, from where on more pictures are shown as they are
FALL = 0.85  # of the rate, from a block to the one before
CUTOFFS = torch.arange(16, 31)  # years that the ordinal term asks about

# bfloat16 halves the time on processors that compute with it.
FAST = "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()


def loss_of(logits, ages):
    """The label as a distribution, its mean (DLDL-v2, Gao et al., 2018), and for
    each of CUTOFFS whether the person is that old."""
    years = torch.arange(AGES, dtype=torch.float32)
    sigma = (0.8 + 0.06 * ages)[:, None]
    target = torch.softmax(-((years - ages[:, None]) ** 2) / (2 * sigma**2), 1)
    log = logits.log_softmax(1)
    p = log.exp()
    divergence = (target * (torch.log(target + 1e-12) - log)).sum(1)
    error = ((p * years).sum(1) - ages).abs() * 20 / (ages + 5)
    older = (1 - p.cumsum(1)[:, CUTOFFS - 1]).clamp(1e-5, 1 - 1e-5)
    known = 1 - target.cumsum(1)[:, CUTOFFS - 1]
    order = -(known * older.log() + (1 - known) * (1 - older).log()).mean(1)
    return (divergence + 0.2 * error + order).mean()


def distributions(tail, front, faces, rows):
    """The probability of each age for each of the pictures, unaltered."""
    tail.eval()
    found = []
    with torch.no_grad():
        for at in range(0, len(rows), 64):
            x = front(pictures(faces, rows[at : at + 64]))
            found.append(tail(x).softmax(1))
    tail.train()
    return torch.cat(found).numpy()


def in_eight_bits(pair, faces, rows):
    """The same by the networks that are written."""
    return torch.cat([pair.distributions(pictures(faces, rows[at : at + 64])) for at in range(0, len(rows), 64)]).numpy()


def pictures(faces, rows):
    return alter.plain(torch.stack([faces.crop(i) for i in rows]))


class Average:
    """The mean of the weights over the last steps, which go back further and
    further."""

    def __init__(self, tail):
        self.state = {k: v.clone() for k, v in tail.state_dict().items()}

    def take(self, tail, step, done):
        decay = min(0.99 + 0.009 * done, (1 + step) / (10 + step))
        with torch.no_grad():
            for k, v in tail.state_dict().items():
                self.state[k].lerp_(v, 1 - decay)


def train(layers, faces, chosen, o, report):
    """Trains a tail on the chosen pictures. report gets a tail from time to time."""
    torch.manual_seed(o.seed)
    random = np.random.default_rng(o.seed)
    tail = loaded(layers, network.state_of(o.weights) if o.weights else None)
    optimiser = torch.optim.AdamW(tail.groups(o.rate, FALL), lr=o.rate, weight_decay=0.05)
    peaks = [group["lr"] for group in optimiser.param_groups]
    average, ages = Average(tail), torch.from_numpy(faces.ages).float()
    total, begun, told, sum_of = o.pictures // feed.BATCH, time.time(), time.time(), 0.0
    if not total:
        return tail
    data = feed.Feed(o.material, o.stock, chosen, o.seed, FAST, o.workers, int(o.late * total))
    for step in range(total):
        done = step / total
        factor = min(1, (step + 1) / WARM_UP) * (0.5 + 0.5 * math.cos(math.pi * done))
        for group, peak in zip(optimiser.param_groups, peaks):
            group["lr"] = peak * max(factor, 0.003)
        x, batch = data.batch()
        x = cut_squares(x.clone(), random)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=FAST):
            logits = tail(x)
        loss = loss_of(logits, ages[batch])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tail.parameters(), 5)
        optimiser.step()
        sum_of += loss.item()
        average.take(tail, step + 1, done)
        if (step + 1) % 250 == 0:
            print(f"  {(step + 1) * feed.BATCH} pictures, {100 * done:.0f} %, loss {sum_of / 250:.3f}, {time.time() - begun:.0f} s", flush=True)
            sum_of = 0.0
        if time.time() - told > 600:
            report(loaded(layers, average.state))
            torch.save(average.state, o.out / "tail.pt")
            told = time.time()
    data.close()
    return loaded(layers, average.state)


def cut_squares(x, random):
    """Half of the pictures lose a square of their feature map."""
    for i in range(0, len(x), 2):
        side = random.integers(3, 7)
        top, left = random.integers(0, network.CELLS - side + 1, 2)
        x[i, :, top : top + side, left : left + side] = 0
    return x


def loaded(layers, state):
    tail = network.Tail(layers).to(memory_format=torch.channels_last)
    if state:
        tail.load_state_dict(state)
    return tail


def write_held_out(faces, held, years, path):
    """What `agegate-lab eval` reports on."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["file", "age", "group", "collection", "estimate"])
        for i, estimate in zip(held, years):
            out.writerow([faces.files[i], faces.ages[i], faces.groups[i], faces.collections[i], f"{estimate:.3f}"])


def write_manifest(faces, chosen, scale, figures, digests, o):
    names = sorted(set(faces.collections[chosen]))
    manifest = {
        "file": "agetail.onnx", "sha256": digests[1],
        "outputs": {"distribution": "probability of each age from 0 to 99"},
        "source": "internal/tools/training/train.py, from blocks 7 to 13 of " + o.stock.name, "licence": o.licence,
        "front": {
            "file": "agefront.onnx", "sha256": digests[0],
            "outputs": {"descriptor": "face descriptor", "map": "feature map of block 6 of 13, channels first, 0 to 6"},
            "source": "internal/tools/training/eightbit.py, from " + o.stock.name, "licence": "MIT as distributed; see NOTICE",
        },
        "base": hashlib.sha256(o.stock.read_bytes()).hexdigest(),
        "scale": [{"reading": r, "years": y} for r, y in scale],
        "trained_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "data": {"name": o.name or ", ".join(names), "pictures": len(chosen), "youngest": int(faces.ages[chosen].min()), "oldest": int(faces.ages[chosen].max())},
        "training": {"pictures_shown": o.pictures, "seed": o.seed, "rate": o.rate, "torch": torch.__version__},
        "figures": {"held_out": figures},
    }
    (o.out / "agetail.json").write_text(json.dumps(manifest, indent=2) + "\n")


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("material", type=pathlib.Path, help="directory written by `agegate-lab crops`")
    p.add_argument("--stock", type=pathlib.Path, default="models/faceres.onnx", help="the converted age network")
    p.add_argument("--out", type=pathlib.Path, default="models", help="directory for agetail.onnx and agetail.json")
    p.add_argument("--name", default="", help="what to call the pictures in the manifest (default: the collections)")
    p.add_argument("--licence", default="that of the pictures", help="the terms of the pictures, for the manifest")
    p.add_argument("--pictures", type=int, default=160_000, help="how many altered pictures to show")
    p.add_argument("--late", type=float, default=LATE, help="share of the training after which more pictures are shown as they are")
    p.add_argument("--leave-out", default="", metavar="COLLECTION", help="train without this collection, report on all of it, and write no model: how strangers fare")
    p.add_argument("--false-pass", type=float, default=0.035, help="share of the 13- to 17-year-olds of the worst collection that the scale lets pass at 25")
    p.add_argument("--weights", type=pathlib.Path, help="start from these: an agetail.onnx, or what an earlier run wrote (tail.pt); with --pictures 0 nothing more is learned")
    p.add_argument("--rate", type=float, default=1e-4, help="of the head; each block's falls from the last one on")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=1, help="processes that make altered pictures")
    p.add_argument("--threads", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    return p.parse_args()


def main():
    o = options()
    torch.set_num_threads(o.threads)
    faces, layers = feed.Faces(o.material), network.stock_layers(o.stock)
    held, chosen = np.flatnonzero(faces.held), np.flatnonzero(~faces.held)
    if o.leave_out:
        chosen = np.flatnonzero(~faces.held & (faces.collections != o.leave_out))
        held = np.flatnonzero(faces.collections == o.leave_out)
    if not len(held) or not len(chosen):
        raise SystemExit("there are no pictures to learn from, or none is held out: is the collection's name right?")
    front = network.Front(layers, torch.float32)
    print(f"{len(chosen)} pictures to learn from, {len(held)} held out", flush=True)

    def report(tail, rows):
        readings.show(readings.of(distributions(tail, front, faces, rows)), faces.ages[rows], faces.collections[rows])

    tail = train(layers, faces, chosen, o, lambda tail: report(tail, held[:: len(held) // GLANCE + 1]))
    torch.save(tail.state_dict(), o.out / "tail.pt")
    report(tail, held)
    tail.round()
    some = np.random.default_rng(o.seed).choice(chosen, min(FITTED, len(chosen)), replace=False)
    pair = eightbit.Pair(layers, tail, pictures(faces, some))
    found = readings.of(in_eight_bits(pair, faces, held))
    print("with the front in eight bits:")
    readings.show(found, faces.ages[held], faces.collections[held])
    scale = readings.scale_for(found, faces.ages[held], faces.collections[held], o.false_pass)
    years = readings.scaled(found, scale)
    print("scaled:")
    figures = readings.show(years, faces.ages[held], faces.collections[held])
    write_held_out(faces, held, years, o.out / "held_out.csv")
    if not o.leave_out:
        write_manifest(faces, chosen, scale, figures, pair.write(o.out), o)
        print(f"wrote {o.out}/agefront.onnx, agetail.onnx and agetail.json", flush=True)


if __name__ == "__main__":
    main()
