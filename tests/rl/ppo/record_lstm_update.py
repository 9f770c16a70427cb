#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch computes for one PPO update of a recurrent policy: lstm_update.txt, for lstm_test.cpp.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python tests/rl/ppo/record_lstm_update.py > tests/rl/ppo/lstm_update.txt

Parameters and samples are waves, which the test makes again. The rows are those of a rollout of STEPS steps of ENVS
environments, time-major, without the rows in LEFT_OUT. torch.nn.LSTM runs through each environment's rows, one after
another, from the memory before the rollout; the memory is set to 0 before the rows in BEGINS. torch.autograd,
clip_grad_norm_ and optim.Adam do the rest, in float64.
"""
import numpy as np
import torch
from torch import nn

STEPS, ENVS, HIDDEN, UNITS = 7, 3, 6, 5
LEFT_OUT = {(2, 1), (5, 2), (6, 2)}  # (step, environment)
BEGINS = {(3, 0), (3, 1), (5, 1), (6, 1)}
UPDATES, LEARNING_RATE, CLIP = 3, 3e-3, 0.2


def wave(count, phase, size):
    """Values of float32, as the program has them."""
    numbers = size * np.sin(0.7 * np.arange(count) + phase)
    return torch.from_numpy(numbers.astype(np.float32).astype(np.float64))


class Recurrent(nn.Module):
    """The networks, with their parameters in the order of PolicySpec::parameter_count()."""

    def __init__(self, inputs, outputs, continuous, hidden):
        super().__init__()
        if continuous:
            self.log_std = nn.Parameter(torch.zeros(outputs))
        for name, width in ("policy", outputs), ("value", 1):
            layers = nn.Sequential(nn.Linear(inputs, HIDDEN), nn.Tanh()) if hidden else nn.Sequential()
            setattr(self, name, layers)
            setattr(self, name + "_lstm", nn.LSTM(HIDDEN if hidden else inputs, UNITS))
            setattr(self, name + "_output", nn.Linear(UNITS, width))

    def one(self, name, observations, rows, memory):
        """The outputs of one of the two networks, for the rows of a rollout."""
        features = getattr(self, name)(observations)
        outputs = [None] * len(rows)
        for env in range(ENVS):
            output, cell = memory[env, :UNITS].reshape(1, 1, UNITS), memory[env, UNITS:].reshape(1, 1, UNITS)
            for i, (step, of) in enumerate(rows):
                if of != env:
                    continue
                if (step, env) in BEGINS:
                    output, cell = torch.zeros_like(output), torch.zeros_like(cell)
                shown, (output, cell) = getattr(self, name + "_lstm")(features[i].reshape(1, 1, -1), (output, cell))
                outputs[i] = getattr(self, name + "_output")(shown.flatten())
        return torch.stack(outputs)

    def forward(self, observations, rows, memory):
        return (self.one("policy", observations, rows, memory[:, :2 * UNITS]),
                self.one("value", observations, rows, memory[:, 2 * UNITS:]).flatten())


def record(name, continuous, hidden):
    inputs, outputs = 4, 2 if continuous else 3
    rows = [(step, env) for step in range(STEPS) for env in range(ENVS) if (step, env) not in LEFT_OUT]
    count = len(rows)
    network = Recurrent(inputs, outputs, continuous, hidden).double()
    total = sum(p.numel() for p in network.parameters())
    nn.utils.vector_to_parameters(wave(total, 0.1, 0.5), network.parameters())
    observations = wave(count * inputs, 0.2, 1).reshape(count, inputs)
    memory = wave(ENVS * 4 * UNITS, 0.8, 0.5).reshape(ENVS, 4 * UNITS)
    actions = wave(count * outputs, 0.7, 1.5).reshape(count, outputs) if continuous else torch.arange(count) % outputs
    old_log_probabilities = wave(count, 0.3, 0.3) - 1
    advantages, returns = wave(count, 0.5, 2), wave(count, 0.6, 1)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, eps=1e-5)
    for update in range(UPDATES):
        policy, value = network(observations, rows, memory)
        if continuous:
            distribution = torch.distributions.Normal(policy, network.log_std.exp())
            log_probability = distribution.log_prob(actions).sum(1)
            entropy = distribution.entropy().sum(1).mean()
        else:
            distribution = torch.distributions.Categorical(logits=policy)
            log_probability, entropy = distribution.log_prob(actions), distribution.entropy().mean()
        normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = (log_probability - old_log_probabilities).exp()
        policy_loss = -torch.min(normal * ratio, normal * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        value_loss = ((value - returns) ** 2).mean()
        optimiser.zero_grad()
        (policy_loss + 0.5 * value_loss - 0.01 * entropy).backward()
        gradient = nn.utils.parameters_to_vector([p.grad for p in network.parameters()])
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        if update == 0:
            print(name, total)
            print(*(f"{x.item():.9g}" for x in (policy_loss, value_loss, entropy)))
            print(*(f"{x:.9g}" for x in gradient.tolist()))
        optimiser.step()
    print(*(f"{x:.9g}" for x in nn.utils.parameters_to_vector(network.parameters()).tolist()))


record("discrete", False, True)
record("continuous", True, True)
record("linear", False, False)
