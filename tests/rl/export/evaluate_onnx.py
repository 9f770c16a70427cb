# SPDX-License-Identifier: Apache-2.0
"""Evaluates FOLDER/policy.onnx for the observations in FOLDER/rows, with nothing but NumPy.

Prints what the model says of itself. Writes each output of the graph as floats to the file of its name in FOLDER.
Anything that is not used by exported policies is an error.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy

TYPES = {1: "float32", 7: "int64"}


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data):
    """The fields of a message: the values of each number."""
    found = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field is cut off"
        else:
            raise ValueError(f"wire type {key & 7} of field {key >> 3}")
        found[key >> 3].append(value)
    return found


def text(values):
    (value,) = values
    return value.decode()


def tensor(message):
    (element,) = message[2]
    (raw,) = message[9]
    return numpy.frombuffer(raw, {"float32": "<f4", "int64": "<i8"}[TYPES[element]]).reshape(message[1])


def described(message):
    """Name, type and shape of an input or output of the graph."""
    (kind,) = fields(message[2][0])[1]
    kind = fields(kind)
    shape = [fields(dimension) for dimension in fields(kind[2][0])[1]]
    return text(message[1]), TYPES[kind[1][0]], [text(each[2]) if 2 in each else each[1][0] for each in shape]


def attributes(node):
    found = {}
    for each in map(fields, node[5]):
        (kind,) = each[20]
        found[text(each[1])] = each[8] if kind == 7 else each[3][0]
        assert kind in (2, 7)
    return found


def gemm(x, weight, bias, transB):
    assert transB == 1 and x.ndim == 2
    return x @ weight.T + bias


def conv(x, weight, bias, kernel_shape, strides):
    assert tuple(kernel_shape) == weight.shape[2:]
    windows = numpy.lib.stride_tricks.sliding_window_view(x, kernel_shape, axis=(2, 3))
    windows = windows[:, :, ::strides[0], ::strides[1]]
    return numpy.einsum("ncyxvu,ocvu->noyx", windows, weight, optimize=True) + bias[:, None, None]


def argmax(x, axis, keepdims):
    return numpy.argmax(x, axis, keepdims=bool(keepdims))


def part(x, begin, end, axes):
    assert list(axes) == [1] and x.ndim == 2
    return x[:, begin[0]:end[0]]


OPERATORS = {
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "Clip": lambda x, low, high: numpy.clip(x, low, high),
    "Min": lambda x, y: numpy.minimum(x, y),
    "Max": lambda x, y: numpy.maximum(x, y),
    "Tanh": numpy.tanh,
    "Relu": lambda x: numpy.maximum(x, 0),
    "Flatten": lambda x, axis: x.reshape(numpy.prod(x.shape[:axis], dtype=int), -1),
    "Gemm": gemm,
    "Conv": conv,
    "ArgMax": argmax,
    "Greater": lambda x, y: x > y,
    "Where": numpy.where,
    "Slice": part,
    "Concat": lambda *x, axis: numpy.concatenate(x, axis),
}


def main(folder):
    model = fields((folder / "policy.onnx").read_bytes())
    (operators,) = map(fields, model[8])
    print(f"ir_version {model[1][0]}, opset {operators[2][0]}")
    (graph,) = map(fields, model[7])
    inputs = [described(fields(each)) for each in graph[11]]
    outputs = [described(fields(each)) for each in graph[12]]
    for what, (name, kind, shape) in [("input", each) for each in inputs] + [("output", each) for each in outputs]:
        print(f"{what} {name}: {kind} [{', '.join(map(str, shape))}]")
    for entry in map(fields, model[14]):
        print(f"{text(entry[1])}: {text(entry[2])}")

    values = {text(each[8]): tensor(each) for each in map(fields, graph[5])}
    for name, kind, shape in inputs:
        file = folder / {"observation": "rows", "mask": "mask"}[name]
        values[name] = numpy.fromfile(file, kind).reshape(-1, *shape[1:])
    batch = len(values["observation"])
    for node in map(fields, graph[1]):
        assert text(node[2]) not in values, "a value has two nodes"
        inputs = [values[each.decode()] for each in node[1]]
        values[text(node[2])] = OPERATORS[text(node[4])](*inputs, **attributes(node))
    for name, kind, shape in outputs:
        assert values[name].dtype == kind, f"{name} is of {values[name].dtype}"
        assert values[name].shape == (batch, *shape[1:]), f"{name} has the shape {values[name].shape}"
        values[name].astype("f4").tofile(folder / name)


main(Path(sys.argv[1]))
