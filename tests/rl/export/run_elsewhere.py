# SPDX-License-Identifier: Apache-2.0
"""Runs FOLDER/policy.onnx on ONNX Runtime, and FOLDER/policy.safetensors in PyTorch, for the observations in FOLDER/rows.

Writes what they give as floats: NAME for each output of the graph, and torch.outputs and torch.value.
"""

import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
import torch
from safetensors import safe_open


def run_onnx(folder):
    path = str(folder / "policy.onnx")
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    files = {"observation": "rows", "mask": "mask"}
    inputs = {each.name: numpy.fromfile(folder / files[each.name], "f4").reshape(-1, *each.shape[1:])
              for each in session.get_inputs()}
    assert set(session.get_modelmeta().custom_metadata_map) == {"environment", "network"}
    names = [output.name for output in session.get_outputs()]
    for name, numbers in zip(names, session.run(names, inputs)):
        numbers.astype("f4").tofile(folder / name)
    return inputs["observation"]


def module(tensors, name, activation, strides=(4, 2, 1)):
    """The torch.nn.Sequential whose parameters have these names."""
    places = sorted({int(key.split(".")[1]) for key in tensors if key.startswith(f"{name}.")})
    layers = []
    for place in range(places[-1] + 1):
        if place not in places:
            flattens = name == "trunk" and place == 6
            layers.append(torch.nn.Flatten() if flattens else activation())
            continue
        shape = tensors[f"{name}.{place}.weight"].shape
        if len(shape) == 4:
            layers.append(torch.nn.Conv2d(shape[1], shape[0], shape[2], strides[place // 2]))
        else:
            layers.append(torch.nn.Linear(shape[1], shape[0]))
    if name == "trunk":
        layers.append(torch.nn.Flatten() if places[-1] == 4 else activation())
        if places[-1] == 4:  # No hidden layer: the activation is before it.
            layers.insert(-1, activation())
    sequential = torch.nn.Sequential(*layers)
    sequential.load_state_dict({key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items()
                                if key.startswith(f"{name}.")})
    return sequential


def run_torch(folder, rows):
    with safe_open(folder / "policy.safetensors", "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[metadata["activation"]]
    x = torch.from_numpy(rows)
    if "normaliser.mean" in tensors:
        clip = float(metadata["normaliser.clip"])
        flat = x.flatten(1).double()
        flat = ((flat - tensors["normaliser.mean"]) * tensors["normaliser.scale"]).clamp(-clip, clip)
        x = flat.float().reshape(x.shape)
    x = x * float(metadata["observation_scale"])
    with torch.no_grad():
        if any(name.startswith("trunk.") for name in tensors):
            x = module(tensors, "trunk", activation)(x)
        else:
            x = x.flatten(1)
        outputs = module(tensors, "policy", activation)(x)
        if metadata.get("masked") == "true":
            possible = torch.from_numpy(numpy.fromfile(folder / "mask", "f4")).reshape(outputs.shape) > 0
            outputs = outputs.masked_fill(~possible, -torch.inf)
        outputs.numpy().tofile(folder / "torch.outputs")
        module(tensors, "value", activation)(x).numpy().tofile(folder / "torch.value")


def main(folder):
    torch.set_num_threads(1)
    run_torch(folder, run_onnx(folder))


main(Path(sys.argv[1]))
