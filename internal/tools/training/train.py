#!/usr/bin/python3
"""Fine-tunes the last two blocks of the age network on labelled faces.

Reads what `agegate calibrate --material DIR` wrote, cross-validates, trains on
all of it and writes the result as an ONNX model: a tail that goes on from the
feature map of the stock network's block 11. See docs/training.md.
"""
import argparse
import csv
import datetime
import hashlib
import json
import os
import pathlib
import time

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import torch
import torch.nn as nn
import torch.nn.functional as F

CHANNELS, CELLS, AGES = 512, 14, 100
MAP_SCALE = 6 / 255  # maps are stored as bytes
BATCH = 32
PLAIN_SHARE = 0.3  # of the pictures in a batch that are shown unaltered
BANDS = [(0, 7), (8, 12), (13, 17), (18, 24), (25, 35), (36, 50), (51, 70), (71, 120)]

# bfloat16 halves the time on processors that compute with it.
FAST = "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text()


class Tail(nn.Module):
    """Blocks 12 and 13 of MobileNet v1, batch norm folded, and a head."""

    def __init__(self, stock):
        super().__init__()
        self.convs = nn.ModuleList()
        for name, stride in (("dw_12", 2), ("pw_12", 1), ("dw_13", 1), ("pw_13", 1)):
            weight, bias = stock[name]
            groups = weight.shape[0] if weight.shape[1] == 1 else 1
            conv = nn.Conv2d(weight.shape[1] * groups, weight.shape[0], weight.shape[2], stride, groups=groups)
            conv.weight.data, conv.bias.data = torch.tensor(weight), torch.tensor(bias)
            self.convs.append(conv)
        self.register_buffer("centre", torch.zeros(1536))
        self.register_buffer("spread", torch.ones(1536))
        self.hidden, self.bins = nn.Linear(1536, 128), nn.Linear(128, AGES)
        self.dropout = nn.Dropout(0.3)

    def pooled(self, x):
        first = x.mean((2, 3))
        # TensorFlow pads an even size at its end only.
        for conv, pad in zip(self.convs, ((0, 1, 0, 1), None, (1, 1, 1, 1), None)):
            x = torch.clamp(conv(F.pad(x, pad) if pad else x).float(), 0, 6)
        return torch.cat([x.mean((2, 3)), first], 1)

    def forward(self, x):
        hidden = F.relu(self.hidden((self.pooled(x) - self.centre) / self.spread))
        return self.bins(self.dropout(hidden)).float()


def stock_blocks(path):
    """Blocks 12 and 13 of the converted network as weight and bias."""
    graph = onnx.load(path).graph
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    made_by = {n.output[0]: n for n in graph.node}
    users = {n.input[0]: n for n in graph.node}
    blocks = {}
    for block in ("dw_12", "pw_12", "dw_13", "pw_13"):
        first = f"conv_{block}/depthwise" if block[0] == "d" else f"conv_{block}_bn/batchnorm_1/mul_1"
        node = made_by[first]
        weight, bias = constants[node.input[1]], 0
        if len(node.input) > 2:
            bias = constants[node.input[2]]
        while (node := users[node.output[0]]).op_type in ("Mul", "Add"):
            c = constants[node.input[1]].reshape(-1)
            if node.op_type == "Mul":
                weight, bias = weight * c[:, None, None, None], bias * c
            else:
                bias = bias + c
        blocks[block] = weight.astype(np.float32), np.asarray(bias, np.float32)
    return blocks


class Faces:
    """The material: maps of every view; labels, folds and the calibrated head's
    held-out estimates by picture."""

    def __init__(self, directory):
        self.maps = np.memmap(directory / "maps.u8", np.uint8, "r").reshape(-1, CHANNELS, CELLS, CELLS)
        views = {}
        with open(directory / "views.csv", newline="") as file:
            for row in csv.DictReader(file):  # the plain view of a picture comes first
                views.setdefault(row["file"], []).append(row)
        first = [rows[0] for rows in views.values()]
        self.views = [[int(row["row"]) for row in rows] for rows in views.values()]
        self.files = list(views)
        self.groups = [row["group"] for row in first]
        self.ages = np.array([int(row["age"]) for row in first])
        self.folds = np.array([int(row["fold"]) for row in first])
        self.head = np.array([float(row["head"]) for row in first])

    def load(self, rows):
        x = torch.from_numpy(self.maps[rows]).float() * MAP_SCALE
        return x.contiguous(memory_format=torch.channels_last)


def weights_of(ages):
    """Rare ages count more: one over the root of their smoothed frequency."""
    count = np.bincount(ages, minlength=AGES + 2).astype(float)
    smooth = np.convolve(count, np.ones(5) / 5, "same")
    weight = 1 / np.sqrt(np.maximum(smooth[ages], 1))
    return weight / weight.mean()


def loss_of(logits, ages, weight):
    """DLDL-v2 (Gao et al., 2018): the label as a distribution, and its mean."""
    years = torch.arange(AGES, dtype=torch.float32)
    sigma = (0.8 + 0.06 * ages)[:, None]
    target = torch.softmax(-((years - ages[:, None]) ** 2) / (2 * sigma**2), 1)
    log = logits.log_softmax(1)
    divergence = (target * (torch.log(target + 1e-12) - log)).sum(1)
    error = ((log.exp() * years).sum(1) - ages).abs() * 20 / (ages + 5)
    return (weight * (divergence + 0.2 * error)).mean()


def distributions(tail, faces, rows):
    """The probability of each age, for each row."""
    tail.eval()
    with torch.no_grad():
        parts = [tail(faces.load(rows[at : at + 64])).softmax(1) for at in range(0, len(rows), 64)]
    return torch.cat(parts).numpy()


def estimate(distribution, head):
    """The gateway's estimate of each row in years, see Tuned in internal/check/age/head.go."""
    years = np.arange(AGES)
    full = distribution @ years
    young = (distribution @ (years + 5.0) ** -2 + (head + 5) ** -2) / 2
    near = 1.04 / np.sqrt(young) - 5
    return full + np.clip((45 - full) / 10, 0, 1) * (near - full)


def train(stock, faces, chosen, o):
    """Trains a tail on the chosen pictures."""
    torch.manual_seed(o.seed)
    random = np.random.default_rng(o.seed)
    tail = Tail(stock).to(memory_format=torch.channels_last)
    with torch.no_grad():  # the head's inputs are standardised as the stock blocks give them
        sample = random.choice(chosen, min(512, len(chosen)), replace=False)
        pooled = torch.cat([tail.pooled(faces.load([faces.views[i][0] for i in part])) for part in np.array_split(sample, 8)])
        tail.centre.copy_(pooled.mean(0))
        tail.spread.copy_(pooled.std(0) + 0.05)
    head = [*tail.hidden.parameters(), *tail.bins.parameters()]
    optimiser = torch.optim.AdamW([
        {"params": tail.convs.parameters(), "lr": 2e-4, "weight_decay": 0.02},
        {"params": head, "lr": 1e-3, "weight_decay": 0.05},
    ])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, o.steps)
    average = {k: v.clone() for k, v in tail.state_dict().items()}
    weight = weights_of(faces.ages[chosen])
    order, at, begun = random.permutation(len(chosen)), 0, time.time()
    for step in range(o.steps):
        if at + BATCH > len(order):
            order, at = random.permutation(len(chosen)), 0
        batch, at = order[at : at + BATCH], at + BATCH
        rows = []
        for i in batch:
            views = faces.views[chosen[i]]
            plain = len(views) == 1 or random.random() < PLAIN_SHARE
            rows.append(views[0] if plain else views[1 + random.integers(len(views) - 1)])
        x = faces.load(rows)
        for i in range(0, BATCH, 2):  # half of them lose a square
            side = random.integers(3, 7)
            top, left = random.integers(0, CELLS - side + 1, 2)
            x[i, :, top : top + side, left : left + side] = 0
        tail.train()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=FAST):
            logits = tail(x)
        loss = loss_of(logits, torch.tensor(faces.ages[chosen[batch]], dtype=torch.float32), torch.tensor(weight[batch], dtype=torch.float32))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tail.parameters(), 5)
        optimiser.step()
        schedule.step()
        decay = min(0.995, (1 + step) / (10 + step))
        with torch.no_grad():
            for k, v in tail.state_dict().items():
                average[k].lerp_(v, 1 - decay)
        if (step + 1) % 250 == 0:
            print(f"  step {step + 1} of {o.steps}, loss {loss.item():.3f}, {time.time() - begun:.0f} s", flush=True)
    tail.load_state_dict(average)
    return tail


def figures_of(ages, estimates):
    """By band of ages: errors in years, and the share that passes at 25."""
    bands = []
    for low, high in BANDS:
        here = (ages >= low) & (ages <= high)
        if here.any():
            error = estimates[here] - ages[here]
            passing = np.round(estimates[here], 1) >= 25
            bands.append({
                "from": low, "to": high, "count": int(here.sum()), "mae": round(float(np.abs(error).mean()), 2),
                "bias": round(float(error.mean()), 2), "pass_at_25": round(float(passing.mean()), 4),
            })
    return bands


def print_figures(title, bands):
    print(f"{title}\nAGE     PICTURES    MAE   BIAS  PASS AT 25")
    for b in bands:
        print(f"{b['from']:2}–{b['to']:<3}  {b['count']:9} {b['mae']:6.2f} {b['bias']:+6.2f}  {100 * b['pass_at_25']:8.1f} %")
    print(flush=True)


def write_onnx(tail, path):
    """Writes the tail with weights of half precision."""
    constants, nodes = [], []

    def constant(name, value):
        value = np.asarray(value, np.float16)
        constants.append(onnx.numpy_helper.from_array(value, name + "/half"))
        nodes.append(onnx.helper.make_node("Cast", [name + "/half"], [name], to=onnx.TensorProto.FLOAT))
        return name

    def scalar(name, value):
        constants.append(onnx.numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    low, high = scalar("low", 0), scalar("high", 6)
    x = "input"
    for n, (conv, pads) in enumerate(zip(tail.convs, ((0, 0, 1, 1), (0,) * 4, (1,) * 4, (0,) * 4))):
        inputs = [x, constant(f"conv{n}/weight", conv.weight.detach()), constant(f"conv{n}/bias", conv.bias.detach())]
        nodes.append(onnx.helper.make_node("Conv", inputs, [f"conv{n}"], pads=pads, strides=conv.stride, group=conv.groups))
        x = f"conv{n}/clipped"
        nodes.append(onnx.helper.make_node("Clip", [f"conv{n}", low, high], [x]))
    for name, of in (("last", x), ("first", "input")):
        nodes.append(onnx.helper.make_node("GlobalAveragePool", [of], [name]))
    nodes.append(onnx.helper.make_node("Concat", ["last", "first"], ["pooled"], axis=1))
    nodes.append(onnx.helper.make_node("Flatten", ["pooled"], ["flat"]))
    # The standardisation becomes a part of the first layer.
    spread, centre = tail.spread, tail.centre
    weight = tail.hidden.weight.detach() / spread
    bias = tail.hidden.bias.detach() - weight @ centre
    nodes.append(onnx.helper.make_node("Gemm", ["flat", constant("hidden/weight", weight), constant("hidden/bias", bias)], ["hidden"], transB=1))
    nodes.append(onnx.helper.make_node("Relu", ["hidden"], ["active"]))
    inputs = ["active", constant("bins/weight", tail.bins.weight.detach()), constant("bins/bias", tail.bins.bias.detach())]
    nodes.append(onnx.helper.make_node("Gemm", inputs, ["bins"], transB=1))
    nodes.append(onnx.helper.make_node("Softmax", ["bins"], ["distribution"], axis=1))
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes, "agetail",
        [tensor("input", onnx.TensorProto.FLOAT, [1, CHANNELS, CELLS, CELLS])],
        [tensor("distribution", onnx.TensorProto.FLOAT, [1, AGES])], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], producer_name="agegate", ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cross_validate(faces, stock, o):
    """Every picture's distribution by a tail trained without its fold; NaN
    where the fold was left out."""
    found = np.full((len(faces.files), AGES), np.nan)
    for fold in range(min(o.folds, faces.folds.max() + 1)):
        held = np.flatnonzero(faces.folds == fold)
        print(f"fold {fold}: {len(held)} pictures held out", flush=True)
        tail = train(stock, faces, np.flatnonzero(faces.folds != fold), o)
        found[held] = distributions(tail, faces, [faces.views[i][0] for i in held])
        print_figures("The tail alone", figures_of(faces.ages[held], found[held] @ np.arange(AGES)))
    return found


def held_out(faces, found, o):
    """Reports on the pictures that cross-validation held out, writes their
    estimates for `agegate eval`, and returns the figures."""
    held = np.flatnonzero(~np.isnan(found[:, 0]))
    ages, head = faces.ages[held], faces.head[held]
    alone, both = found[held] @ np.arange(AGES), estimate(found[held], head)
    figures = {"held_out": len(held), "tail": figures_of(ages, alone), "estimate": figures_of(ages, both)}
    print_figures(f"Held out, {len(held)} pictures, the tail alone", figures["tail"])
    print_figures("Held out, the gateway's estimate", figures["estimate"])
    with open(o.material / "held_out.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["file", "age", "group", "estimate", "tail", "head"])
        for i, years, of_tail in zip(held, both, alone):
            out.writerow([faces.files[i], faces.ages[i], faces.groups[i], f"{years:.3f}", f"{of_tail:.3f}", f"{faces.head[i]:.3f}"])
    return figures


def write_manifest(faces, figures, digest, o):
    manifest = {
        "file": "agetail.onnx", "sha256": digest,
        "outputs": {"distribution": "probability of each age from 0 to 99"},
        "source": "internal/tools/training/train.py, from blocks 12 and 13 of " + o.stock.name, "licence": o.licence,
        "base": hashlib.sha256(o.stock.read_bytes()).hexdigest(),
        "trained_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "data": {"name": o.name, "pictures": len(faces.files), "youngest": int(faces.ages.min()), "oldest": int(faces.ages.max())},
        "training": {"steps": o.steps, "seed": o.seed, "views": sum(map(len, faces.views)), "torch": torch.__version__},
        "figures": figures,
    }
    (o.out / "agetail.json").write_text(json.dumps(manifest, indent=2) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("material", type=pathlib.Path, help="directory written by `agegate calibrate --material`")
    p.add_argument("--stock", type=pathlib.Path, default="models/faceres.onnx", help="the converted age network")
    p.add_argument("--out", type=pathlib.Path, default="models", help="directory for agetail.onnx and agetail.json")
    p.add_argument("--name", default="pictures of your own", help="what to call the set in the manifest")
    p.add_argument("--licence", default="that of the pictures", help="the terms of the set, for the manifest")
    p.add_argument("--folds", type=int, default=99, help="cross-validate on so many of the material's folds only")
    p.add_argument("--steps", type=int, default=2000, help="of training, 32 pictures each")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    faces, stock = Faces(o.material), stock_blocks(o.stock)
    print(f"{len(faces.files)} pictures of ages {faces.ages.min()} to {faces.ages.max()}", flush=True)

    figures = held_out(faces, cross_validate(faces, stock, o), o)
    print("training on all of them", flush=True)
    tail = train(stock, faces, np.arange(len(faces.files)), o)
    write_manifest(faces, figures, write_onnx(tail, o.out / "agetail.onnx"), o)
    print(f"wrote {o.out}/agetail.onnx and agetail.json", flush=True)


if __name__ == "__main__":
    main()
