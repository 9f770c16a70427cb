// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "fiber/rl/saved_policy.hpp"

// Files with which other programs run a trained policy, in other languages and without
// this library. docs/how-to/use-a-trained-policy.md shows such programs.
//
// All functions write the file with write_atomically(). They throw std::system_error if
// the file can't be written, and std::invalid_argument, saying what is wrong, for a
// policy that can't be exported: one with a number that is not finite, with a normaliser
// for other observations, or with bounds of which the lower is above the upper.

namespace fiber::rl {

/// Writes the policy for runtimes of ONNX (opset 13). One graph holds the normalisation
/// of observations, the network, and the choice of the action. It computes in single
/// precision.
///
///   input  "observation": float {batch, observation_shape...}, as the environment shows
///                         it; {batch, 1} for an observation that is a single number
///   input  "mask":        masked actions only: float {batch, logits}; a choice is
///                         possible if its number is above 0
///   output "action":      discrete: int64 {batch}, the index of the largest logit;
///                         multi-discrete: int64 {batch, action_size}, that of each
///                         component;
///                         continuous: float {batch, action_size}, within the bounds
///   output "logits":      discrete and multi-discrete: float {batch, logits}; -infinity
///                         for what the mask forbids
///   output "mean":        continuous: float {batch, action_size}, not limited to the
///                         bounds
///
/// A graph of a recurrent policy makes one step, and has besides:
///
///   inputs "hidden", "cell":
///                         float {batch, units}, 0 at the start of an episode
///   outputs "next_hidden", "next_cell":
///                         float {batch, units}, the inputs of the next step
///
/// The metadata has the keys "environment" and "network" (PolicySpec::describe()). The
/// value function and the standard deviations are not in the file. Throws
/// std::invalid_argument for parameters of more than 2 GB, the limit of the format.
void save_onnx(const std::filesystem::path& path, const SavedPolicy& policy);

/// Writes all parameters as safetensors, under the names that modules of PyTorch have:
///
///   "log_std"                       of continuous actions
///   "policy.0.weight", "policy.0.bias", "policy.2.weight" ...
///   "value.0.weight" ...
///   "normaliser.mean", "normaliser.scale"   float64, unless the normaliser is the
///                                           identity
///
/// `policy` and `value` are a torch.nn.Sequential of linear layers, with an activation
/// between two layers. A policy with convolutions has a third one, `trunk`: the
/// convolutions at 0, 2 and 4, torch.nn.Flatten at 6, and the hidden layers from 7 on,
/// with an activation after each layer. Then `policy` and `value` have one layer each.
///
/// A recurrent policy has further modules: `policy_lstm` and `value_lstm` are a
/// torch.nn.LSTM ("policy_lstm.weight_ih_l0", "policy_lstm.weight_hh_l0", "..bias_ih_l0",
/// "..bias_hh_l0"), and `policy_output` and `value_output` a torch.nn.Linear. `policy`
/// and `value` have the hidden layers then, with an activation after each.
///
/// The metadata has the keys "environment", "network", "activation" ("tanh", "relu"),
/// "observation_scale", with a normaliser "normaliser.clip", of multi-discrete actions
/// "action_counts" ("3 2"), and of masked actions "masked" ("true").
void save_safetensors(const std::filesystem::path& path, const SavedPolicy& policy);

/// Writes a header in C99 (and C++) that needs no library but C's, and no heap: constants
/// of the type float, and the function
///
///   static inline void NAME_act(const float* observation, float* action);
///
/// It reads NAME_observation_size numbers, as the environment shows them, and writes
/// NAME_action_size numbers: the index of a discrete action, the choice of each component
/// of a multi-discrete one, or the components of a continuous one, within their bounds.
/// It computes in single precision. Its buffers, whose size the header's first lines
/// tell, are on the stack. For masked actions there is an argument between the two,
/// `const unsigned char* mask`: NAME_mask_size bytes, of which 0 forbids a choice.
///
/// The function of a recurrent policy has a further argument, the memory of an episode:
///
///   static inline void NAME_act(const float* observation, float* memory, float* action);
///
/// It has NAME_memory_size numbers, which the caller sets to 0 before an episode. With
/// masks, `mask` comes before `memory`.
///
/// `name` is an identifier of C. Without one, the name is that of the file without its
/// ending, where "_" stands for what is no letter or digit. Throws std::invalid_argument
/// for a name that is no identifier.
void save_c_header(const std::filesystem::path& path, const SavedPolicy& policy,
                   const std::string& name = {});

/// Writes what the ending of the path says: ".onnx", ".safetensors" or ".h". Throws
/// std::invalid_argument, which names the three, for another ending.
void export_policy(const std::filesystem::path& path, const SavedPolicy& policy);

} // namespace fiber::rl
