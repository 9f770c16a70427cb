# SPDX-License-Identifier: Apache-2.0
"""Runs an exported recurrent policy through the episode FOLDER/rows.

ONNX Runtime runs FOLDER/policy.onnx step by step, and PyTorch FOLDER/policy.safetensors as one sequence. Writes what they
give as floats: action and outputs, torch.outputs and torch.value.
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
    inputs = {each.name: each for each in session.get_inputs()}
    mask = numpy.fromfile(folder / "mask", "f4")  # Empty unless actions are masked.
    assert set(inputs) - {"mask"} == {"observation", "hidden", "cell"}
    assert ("mask" in inputs) == (mask.size > 0)
    names = [each.name for each in session.get_outputs()]
    assert names[0] == "action" and names[2:] == ["next_hidden", "next_cell"]
    rows = numpy.fromfile(folder / "rows", "f4").reshape(-1, inputs["observation"].shape[1])
    hidden = cell = numpy.zeros((1, inputs["hidden"].shape[1]), "f4")
    actions, outputs = [], []
    masks = mask.reshape(len(rows), -1)
    for row, possible in zip(rows, masks):
        given = {"observation": row[None], "hidden": hidden, "cell": cell} | ({"mask": possible[None]} if mask.size else {})
        action, output, hidden, cell = session.run(names, given)
        actions.append(action.astype("f4").flatten())
        outputs.append(output[0])
    numpy.array(actions).tofile(folder / "action")
    numpy.array(outputs).tofile(folder / "outputs")
    return rows


class Network(torch.nn.Module):
    """The policy or the value."""

    def __init__(self, tensors, name):
        super().__init__()
        places = sorted(int(key.split(".")[1]) for key in tensors
                        if key.startswith(f"{name}.") and key.endswith(".weight"))
        self.hidden = torch.nn.Sequential()
        for place in places:
            self.hidden.append(torch.nn.Linear(*reversed(tensors[f"{name}.{place}.weight"].shape)))
            self.hidden.append(torch.nn.Tanh())
        units = tensors[f"{name}_output.weight"].shape[1]
        self.lstm = torch.nn.LSTM(tensors[f"{name}_lstm.weight_ih_l0"].shape[1], units)
        self.output = torch.nn.Linear(units, tensors[f"{name}_output.weight"].shape[0])
        for module, prefix in (self.hidden, name), (self.lstm, f"{name}_lstm"), (self.output, f"{name}_output"):
            module.load_state_dict({key.removeprefix(f"{prefix}."): tensor for key, tensor in tensors.items()
                                    if key.startswith(f"{prefix}.")})

    def forward(self, x):
        return self.output(self.lstm(self.hidden(x))[0])


def run_torch(folder, rows):
    masks = numpy.fromfile(folder / "mask", "f4").reshape(len(rows), -1)
    with safe_open(folder / "policy.safetensors", "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    clip = float(metadata["normaliser.clip"])
    x = torch.from_numpy(rows).double()
    x = ((x - tensors["normaliser.mean"]) * tensors["normaliser.scale"]).clamp(-clip, clip).float()
    with torch.no_grad():
        outputs = Network(tensors, "policy")(x)
        if masks.size:
            outputs[torch.from_numpy(masks) == 0] = -torch.inf
        outputs.numpy().tofile(folder / "torch.outputs")
        Network(tensors, "value")(x).numpy().tofile(folder / "torch.value")


torch.set_num_threads(1)
run_torch(Path(sys.argv[1]), run_onnx(Path(sys.argv[1])))
