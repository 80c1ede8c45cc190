"""The age network in two parts: the stock front, which stays as it is, and the
tail, which goes on from the feature map of its block 6 and is trained."""
import numpy as np
import onnx
import onnx.numpy_helper
import torch
import torch.nn as nn
import torch.nn.functional as F

CHANNELS, CELLS, AGES = 512, 14, 100
FIRST, LAST = 7, 13  # blocks of the tail
STRIDED = (2, 4, 6, 12)  # blocks that halve the resolution
JOINED = 11  # its mean joins that of the last block


def stock_layers(path):
    """Weight and bias of every layer of the converted network, batch norm folded."""
    graph = onnx.load(path).graph
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    users = {n.input[0]: n for n in graph.node}
    layers = {}
    for node in graph.node:
        if node.op_type == "Gemm":
            weight, bias = (constants[name] for name in node.input[1:3])
            layers[node.input[1].split("/")[0]] = weight.T.astype(np.float32), bias.astype(np.float32)
        if node.op_type != "Conv":
            continue
        name = node.input[1].split("/")[0].removesuffix("_kernel").removesuffix("_depthwise")
        weight, bias = constants[node.input[1]], 0
        if len(node.input) > 2:
            bias = constants[node.input[2]]
        while (node := users[node.output[0]]).op_type in ("Mul", "Add"):
            c = constants[node.input[1]].reshape(-1)
            if node.op_type == "Mul":
                weight, bias = weight * c[:, None, None, None], bias * c
            else:
                bias = bias + c
        layers[name] = weight.astype(np.float32), np.asarray(bias, np.float32)
    return layers


def state_of(path):
    """The weights of a tail: a file of an earlier run (tail.pt), or a written
    agetail.onnx, whose weights are rounded to eight bits."""
    if path.suffix != ".onnx":
        return torch.load(path)
    constants = {t.name: onnx.numpy_helper.to_array(t).astype(np.float32) for t in onnx.load(path).graph.initializer}
    state = {}
    for i in range(2 * (LAST - FIRST + 1)):
        for part in ("weight", "bias"):
            whole, scale = (constants[f"conv{i}/{part}/{kind}"] for kind in ("whole", "scale"))
            state[f"convs.{i}.{part}"] = whole * scale.reshape(-1, *[1] * (whole.ndim - 1))
    for name in ("hidden", "bins"):
        for part in ("weight", "bias"):
            state[f"{name}.{part}"] = constants[f"{name}/{part}/half"]
    return {name: torch.tensor(value) for name, value in state.items()}


LEVELS, HIGH = 255, 6.0
STEP = HIGH / LEVELS  # of an activation of eight bits


class Rounded(torch.autograd.Function):
    """The nearest whole numbers. Gradients pass as if nothing was rounded (the
    straight-through estimator, Bengio et al., 2013)."""

    @staticmethod
    def forward(_, x):
        return x.round()

    @staticmethod
    def backward(_, gradient):
        return gradient


def step_of(weight):
    """What the eight-bit weights of each output channel are multiples of."""
    return (weight.detach().abs().amax((1, 2, 3), keepdim=True) / 127).clamp(min=1e-9)


def pads_of(block, kind):
    """TensorFlow pads an even size at its end only where it halves it."""
    if kind == "pw":
        return None
    return (0, 1, 0, 1) if block in STRIDED else (1, 1, 1, 1)


def convolution(layers, name, stride):
    weight, bias = layers[name]
    groups = weight.shape[0] if weight.shape[1] == 1 else 1
    conv = nn.Conv2d(weight.shape[1] * groups, weight.shape[0], weight.shape[2], stride, groups=groups)
    conv.weight.data, conv.bias.data = torch.tensor(weight), torch.tensor(bias)
    return conv


class Front:
    """The stock network up to block 6, for pictures of 224×224 with values 0 to
    255, in the given precision."""

    def __init__(self, layers, kind=torch.float32):
        self.kind, self.steps = kind, []
        names = [("conv1", 2, (0, 1, 0, 1))]
        for block in range(1, FIRST):
            names.append((f"conv_dw_{block}", 2 if block in STRIDED else 1, pads_of(block, "dw")))
            names.append((f"conv_pw_{block}", 1, None))
        for name, stride, pad in names:
            self.steps.append((convolution(layers, name, stride).to(kind).to(memory_format=torch.channels_last).requires_grad_(False), pad))

    def __call__(self, x):
        with torch.no_grad():
            x = x.to(self.kind).contiguous(memory_format=torch.channels_last)
            for conv, pad in self.steps:
                if pad == (1, 1, 1, 1):
                    x = F.conv2d(x, conv.weight, conv.bias, conv.stride, 1, 1, conv.groups)
                else:
                    x = conv(F.pad(x, pad) if pad else x)
                x = torch.clamp_(x, 0, 6)
            return x


class Tail(nn.Module):
    """Blocks 7 to 13 of MobileNet v1, batch norm folded, and the stock network's
    age head, which the mean of block 11 joins with weights of zero. The blocks
    compute with weights and activations of eight bits, as the model that is
    written, so training learns weights that rounding does not change."""

    def __init__(self, layers):
        super().__init__()
        self.convs = nn.ModuleList()
        self.pads = []
        for block in range(FIRST, LAST + 1):
            for kind in ("dw", "pw"):
                self.convs.append(convolution(layers, f"conv_{kind}_{block}", 2 if kind == "dw" and block in STRIDED else 1))
                self.pads.append(pads_of(block, kind))
        (weight, bias), (out, offset) = layers["feats"], layers["age_pred"]
        self.hidden, self.bins = nn.Linear(weight.shape[1] + CHANNELS, weight.shape[0]), nn.Linear(out.shape[1], AGES)
        self.hidden.weight.data = torch.cat([torch.tensor(weight), torch.zeros(weight.shape[0], CHANNELS)], 1)
        self.hidden.bias.data = torch.tensor(bias)
        self.bins.weight.data, self.bins.bias.data = torch.tensor(out), torch.tensor(offset)
        self.dropout = nn.Dropout(0.3)

    def groups(self, rate, fall):
        """Parameters with their rates: each block's is a share of the next one's."""
        head = [*self.hidden.parameters(), *self.bins.parameters()]
        found = [{"params": head, "lr": rate}]
        for i, conv in enumerate(self.convs):
            found.append({"params": list(conv.parameters()), "lr": rate * fall ** (LAST - FIRST - i // 2)})
        return found

    def round(self):
        """Gives the blocks the weights that are written."""
        with torch.no_grad():
            for conv in self.convs:
                step = step_of(conv.weight)
                conv.weight.copy_(torch.round(conv.weight / step) * step)

    def forward(self, x):
        first, x = None, Rounded.apply(x.float() / STEP)  # whole numbers up to LEVELS from here on
        for i, (conv, pad) in enumerate(zip(self.convs, self.pads)):
            step = step_of(conv.weight)
            whole, around = Rounded.apply(conv.weight / step), 0
            if pad == (1, 1, 1, 1):
                around = 1
            elif pad:
                x = F.pad(x, pad)
            x = F.conv2d(x, whole, None, conv.stride, around, 1, conv.groups)
            x = torch.addcmul((conv.bias / STEP)[:, None, None], x, step[:, :, 0])
            x = Rounded.apply(x.clamp(0, LEVELS))
            if i == 2 * (JOINED - FIRST) + 1:
                first = x.mean((2, 3))
        hidden = F.relu(self.hidden(torch.cat([x.mean((2, 3)), first], 1) * STEP))
        return self.bins(self.dropout(hidden)).float()
