"""The stock front and the tail with weights and activations of eight bits, which
processors multiply several times as fast as floats.

Every activation is limited to 0 to 6, so one scale fits them all. What rounding
shifts in the mean of a channel over some pictures is taken back by its bias."""
import hashlib

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import torch
import torch.nn.functional as F

import network

HIGH, STEP = network.HIGH, network.STEP
CHUNK = 16  # pictures at once


def steps_of(layers):
    """Convolution and padding of each layer of the whole stock network."""
    steps = [(network.convolution(layers, "conv1", 2), (0, 1, 0, 1))]
    for block in range(1, network.LAST + 1):
        for kind in ("dw", "pw"):
            stride = 2 if kind == "dw" and block in network.STRIDED else 1
            steps.append((network.convolution(layers, f"conv_{kind}_{block}", stride), network.pads_of(block, kind)))
    return steps


MAP = 2 * (network.FIRST - 1)  # index of the step that gives the tail's input


def apply(x, weight, bias, conv, pad):
    if pad:
        x = F.pad(x, pad)
    return F.conv2d(x, weight, bias, conv.stride, 0, 1, conv.groups)


class Layer:
    """One convolution: whole numbers from -127 to 127, a scale for each channel,
    and a bias, for inputs in whole multiples of a step."""

    def __init__(self, conv, pad, step):
        weight = conv.weight.detach()
        self.conv, self.pad, self.step = conv, pad, step
        self.scale = network.step_of(weight).flatten()
        self.whole = torch.clamp(torch.round(weight / self.scale[:, None, None, None]), -127, 127)
        self.bias = conv.bias.detach().clone()

    def raw(self, x):
        return apply(x, self.whole * self.scale[:, None, None, None], self.bias, self.conv, self.pad)

    def __call__(self, x):
        return rounded(self.raw(x).clamp_(0, HIGH))


def rounded(x):
    return torch.round(x / STEP).mul_(STEP)


def in_chunks(function, x):
    return torch.cat([function(part) for part in x.split(CHUNK)])


def fit(steps, exact, coarse, step, keep):
    """The layers of the steps. exact and coarse are the same pictures, as the
    network sees them in floats and in eight bits. Also returns both after the step
    with the index keep."""
    layers, kept = [], None
    for i, (conv, pad) in enumerate(steps):
        layer = Layer(conv, pad, step)
        exact = in_chunks(lambda x: apply(x, conv.weight, conv.bias, conv, pad), exact)
        coarse = in_chunks(layer.raw, coarse)
        shift = (exact - coarse).mean((0, 2, 3))
        layer.bias += shift
        coarse = rounded((coarse + shift[:, None, None]).clamp_(0, HIGH))
        exact.clamp_(0, HIGH)
        layers.append(layer)
        step = STEP
        if i == keep:
            kept = exact, coarse
    return layers, kept


class Pair:
    """The stock network and a tail, fitted to some pictures of 224×224 with whole
    values from 0 to 255."""

    def __init__(self, layers, tail, pictures):
        self.tail = tail
        with torch.no_grad():
            self.front, (exact, coarse) = fit(steps_of(layers), pictures, pictures, 1.0, MAP)
            self.back, _ = fit(list(zip(tail.convs, tail.pads)), exact, coarse, STEP, -1)

    def distributions(self, x):
        """The probability of each age for each of the pictures."""
        joined = 2 * (network.JOINED - network.FIRST) + 1
        with torch.no_grad():
            for layer in self.front[: MAP + 1]:
                x = layer(x)
            for i, layer in enumerate(self.back):
                x = layer(x)
                if i == joined:
                    first = x.mean((2, 3))
            hidden = F.relu(self.tail.hidden(torch.cat([x.mean((2, 3)), first], 1)))
            return self.tail.bins(hidden).softmax(1)

    def write(self, directory):
        """Writes agefront.onnx and agetail.onnx, and returns their SHA-256."""
        return self.write_front(directory / "agefront.onnx"), self.write_tail(directory / "agetail.onnx")

    def write_front(self, path):
        graph = Graph(1.0)
        names = [graph.layer(layer) for layer in self.front]
        graph.node("Identity", [names[MAP]], "map")
        graph.node("ReduceMean", [names[-1]], "descriptor", axes=[2, 3], keepdims=0)
        side, cells = 224, network.CELLS
        return graph.save(path, "agefront", [1, 3, side, side], {"map": [1, network.CHANNELS, cells, cells], "descriptor": [1, 1024]})

    def write_tail(self, path):
        graph, means = Graph(STEP), []
        for n, layer in enumerate(self.back):
            x = graph.layer(layer)
            if n in (2 * (network.JOINED - network.FIRST) + 1, len(self.back) - 1):
                means.insert(0, graph.node("ReduceMean", [x], f"mean{n}", axes=[2, 3], keepdims=0))
        x = graph.node("Concat", means, "pooled", axis=1)
        for name, linear in (("hidden", self.tail.hidden), ("bins", self.tail.bins)):
            inputs = [x, graph.half(name + "/weight", linear.weight), graph.half(name + "/bias", linear.bias)]
            x = graph.node("Gemm", inputs, name, transB=1)
            if name == "hidden":
                x = graph.node("Relu", [x], "active")
        graph.node("Softmax", [x], "distribution", axis=1)
        return graph.save(path, "agetail", [1, network.CHANNELS, network.CELLS, network.CELLS], {"distribution": [1, network.AGES]})


class Graph:
    """An ONNX graph in which whole numbers stand between QuantizeLinear and
    DequantizeLinear, as runtimes expect it."""

    def __init__(self, step):
        self.nodes, self.constants, self.layers = [], [], 0
        self.low, self.high = self.constant("low", np.float32(0)), self.constant("high", np.float32(HIGH))
        self.x = self.grid("input", step)

    def constant(self, name, value):
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def half(self, name, value):
        return self.node("Cast", [self.constant(name + "/half", value.detach().numpy().astype(np.float16))], name, to=onnx.TensorProto.FLOAT)

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def grid(self, name, step):
        """Rounds a tensor to multiples of a step."""
        parts = [self.constant(name + "/step", np.float32(step)), self.constant(name + "/zero", np.uint8(0))]
        whole = self.node("QuantizeLinear", [name, *parts], name + "/whole")
        return self.node("DequantizeLinear", [whole, *parts], name + "/rounded")

    def whole(self, name, value, scale):
        parts = [self.constant(name + "/whole", value), self.constant(name + "/scale", scale.astype(np.float32)), self.constant(name + "/zero", np.zeros(len(scale), value.dtype))]
        return self.node("DequantizeLinear", parts, name, axis=0)

    def layer(self, layer):
        """Appends a layer and returns its output."""
        name, scale = f"conv{self.layers}", layer.scale.numpy().astype(np.float64)
        self.layers += 1
        bias = np.round(layer.bias.numpy() / (scale * layer.step)).clip(-(2**31), 2**31 - 1).astype(np.int32)
        inputs = [self.x, self.whole(name + "/weight", layer.whole.numpy().astype(np.int8), scale), self.whole(name + "/bias", bias, scale * layer.step)]
        left, right, top, bottom = layer.pad or (0,) * 4
        x = self.node("Conv", inputs, name, pads=(top, left, bottom, right), strides=layer.conv.stride, group=layer.conv.groups)
        self.x = self.grid(self.node("Clip", [x, self.low, self.high], name + "/clipped"), STEP)
        return self.x

    def save(self, path, name, shape, outputs):
        value = lambda name, shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        graph = onnx.helper.make_graph(self.nodes, name, [value("input", shape)], [value(*o) for o in outputs.items()], self.constants)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], producer_name="agegate", ir_version=8)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())
        return hashlib.sha256(path.read_bytes()).hexdigest()
