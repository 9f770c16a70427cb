#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch computes for one PPO update: ppo_update.txt, for learner_test.cpp.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python tests/rl/ppo/record_ppo_update.py > tests/rl/ppo/ppo_update.txt

Parameters and samples are waves, which the test makes again. The losses are written as in
Schulman et al. 2017; torch.autograd, clip_grad_norm_ and optim.Adam do the rest, in float64.
"""
import math

import numpy as np
import torch
from torch import nn

ROWS, STEPS, LEARNING_RATE, CLIP = 48, 3, 3e-3, 0.2


def wave(count, phase, size):
    """Values of float32, as the program has them."""
    numbers = size * np.sin(0.7 * np.arange(count) + phase)
    return torch.from_numpy(numbers.astype(np.float32).astype(np.float64))


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Rows(nn.Module):
    def __init__(self, inputs, outputs, continuous):
        super().__init__()
        if continuous:
            self.log_std = nn.Parameter(torch.zeros(outputs))
        self.policy, self.value = mlp(inputs, outputs), mlp(inputs, 1)

    def forward(self, x):
        return self.policy(x), self.value(x).flatten()


class Images(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.channels = channels
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 512), nn.ReLU())
        self.policy, self.value = nn.Linear(512, outputs), nn.Linear(512, 1)

    def forward(self, x):
        x = self.trunk(x.reshape(-1, self.channels, 36, 36))
        return self.policy(x), self.value(x).flatten()


def discrete_distribution(logits, actions, counts, masks):
    """The logarithms of the probabilities, and the mean entropy, of independent components."""
    log_probability, entropy = 0, 0
    if masks is not None:
        logits = logits.masked_fill(~masks, -1e8)  # As sb3-contrib and Huang and Ontanon 2020.
    for component, part in enumerate(logits.split(counts, 1)):
        distribution = torch.distributions.Categorical(logits=part)
        log_probability = log_probability + distribution.log_prob(actions[:, component])
        entropy = entropy + distribution.entropy()
    return log_probability, entropy.mean()


def choices_of(counts):
    """The choice of each component in each row, and masks that allow it."""
    actions = torch.stack([(torch.arange(ROWS) + i) % count for i, count in enumerate(counts)], 1)
    masks = (wave(ROWS * sum(counts), 0.8, 1) > 0).reshape(ROWS, sum(counts))
    begin = 0
    for i, count in enumerate(counts):
        masks[torch.arange(ROWS), begin + actions[:, i]] = True
        begin += count
    return actions, masks


def record(name, network, inputs, actions, clip_values, entropy_coefficient, size, counts=None, masks=None):
    network = network.double()
    total = sum(p.numel() for p in network.parameters())
    nn.utils.vector_to_parameters(wave(total, 0.1, size), network.parameters())
    observations = wave(ROWS * inputs, 0.2, 1).reshape(ROWS, inputs)
    old_log_probabilities = wave(ROWS, 0.3, 0.3) - 1
    old_values, advantages, returns = wave(ROWS, 0.4, 0.5), wave(ROWS, 0.5, 2), wave(ROWS, 0.6, 1)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, eps=1e-5)
    for step in range(STEPS):
        policy, value = network(observations)
        if counts:
            log_probability, entropy = discrete_distribution(policy, actions, counts, masks)
        else:
            distribution = torch.distributions.Normal(policy, network.log_std.exp())
            log_probability = distribution.log_prob(actions).sum(1)
            entropy = distribution.entropy().sum(1).mean()
        normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        log_ratio = log_probability - old_log_probabilities
        ratio = log_ratio.exp()
        policy_loss = -torch.min(normal * ratio, normal * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
        errors = (value - returns) ** 2
        if clip_values:
            clipped = old_values + (value - old_values).clamp(-CLIP, CLIP)
            errors = torch.max(errors, (clipped - returns) ** 2)
        value_loss = errors.mean()
        optimiser.zero_grad()
        (policy_loss + 0.5 * value_loss - entropy_coefficient * entropy).backward()
        gradient = nn.utils.parameters_to_vector([p.grad for p in network.parameters()])
        norm = nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        if step == 0:
            kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > CLIP).double().mean()
            print(name, total)
            print(*(f"{x.item():.9g}" for x in (policy_loss, value_loss, entropy, kl, clip_fraction, norm)))
            sampled = range(0, total, max(1, total // 500))
            print(len(sampled), *(f"{gradient[i].item():.9g}" for i in sampled))
        optimiser.step()
    after = nn.utils.parameters_to_vector(network.parameters())
    print(len(sampled), *(f"{after[i].item():.9g}" for i in sampled))


three, masks_of_three = choices_of([3])
record("discrete", Rows(4, 3, False), 4, three, False, 0.01, 0.3, [3])
record("clipped_values", Rows(4, 3, False), 4, three, True, 0.01, 0.3, [3])
record("continuous", Rows(5, 2, True), 5, wave(ROWS * 2, 0.7, 1.5).reshape(ROWS, 2), False, 0.001, 0.3)
record("images", Images(2, 4), 2 * 36 * 36, choices_of([4])[0], False, 0.01, 0.1, [4])
record("masked", Rows(4, 3, False), 4, three, False, 0.1, 0.3, [3], masks_of_three)
several, masks_of_several = choices_of([3, 2, 4])
record("multi_discrete", Rows(4, 9, False), 4, several, False, 0.1, 0.3, [3, 2, 4])
record("masked_multi_discrete", Rows(4, 9, False), 4, several, False, 0.1, 0.3, [3, 2, 4], masks_of_several)
