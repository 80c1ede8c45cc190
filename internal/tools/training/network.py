"""The age network in two parts: the stock front, which stays as it is, and the
tail, which goes on from the feature map of its block 6 and is trained."""
import hashlib

import numpy as np
import onnx
import onnx.helper
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
    age head, which the mean of block 11 joins with weights of zero."""

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

    def forward(self, x):
        first = None
        for i, (conv, pad) in enumerate(zip(self.convs, self.pads)):
            if pad == (1, 1, 1, 1):
                x = F.conv2d(x, conv.weight, conv.bias, conv.stride, 1, 1, conv.groups)
            else:
                x = conv(F.pad(x, pad) if pad else x)
            x = torch.clamp(x, 0, 6)
            if i == 2 * (JOINED - FIRST) + 1:
                first = x.float().mean((2, 3))
        hidden = F.relu(self.hidden(torch.cat([x.float().mean((2, 3)), first], 1)))
        return self.bins(self.dropout(hidden)).float()


def write_onnx(tail, path):
    """Writes the tail with weights of half precision, and returns its SHA-256."""
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
    x, means = "input", []
    for n, (conv, pad) in enumerate(zip(tail.convs, tail.pads)):
        left, right, top, bottom = pad or (0,) * 4
        inputs = [x, constant(f"conv{n}/weight", conv.weight.detach()), constant(f"conv{n}/bias", conv.bias.detach())]
        nodes.append(onnx.helper.make_node("Conv", inputs, [f"conv{n}"], pads=(top, left, bottom, right), strides=conv.stride, group=conv.groups))
        x = f"conv{n}/clipped"
        nodes.append(onnx.helper.make_node("Clip", [f"conv{n}", low, high], [x]))
        if n in (2 * (JOINED - FIRST) + 1, len(tail.convs) - 1):
            nodes.append(onnx.helper.make_node("GlobalAveragePool", [x], [f"mean{n}"]))
            means.insert(0, f"mean{n}")
    nodes.append(onnx.helper.make_node("Concat", means, ["pooled"], axis=1))
    nodes.append(onnx.helper.make_node("Flatten", ["pooled"], ["flat"]))
    inputs = ["flat", constant("hidden/weight", tail.hidden.weight.detach()), constant("hidden/bias", tail.hidden.bias.detach())]
    nodes.append(onnx.helper.make_node("Gemm", inputs, ["hidden"], transB=1))
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
