// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::cli {
class Interrupts;
}

namespace fiber::cli::kubernetes {

class Client;

/// How a program in a pod ended.
struct ExecResult {
  int exit_code = 0;
  std::string output, errors; ///< stdout and the end of stderr.
};

/// Takes a piece of stdout, on another thread. Returns whether more is wanted.
using TakeOutput = std::function<bool(std::string_view)>;

/// Runs a program in a running pod, with `input` at its stdin, and waits for its end. The
/// program must know where its input ends, because its stdin is not closed before. With
/// `take`, stdout goes there instead of to the result; when no more of it is wanted, the
/// program is left alone and counts as ended well. Throws Error if it can't be run, the
/// connection breaks or a signal comes.
ExecResult exec(Client& client, const std::string& pod, Interrupts& interrupts,
                const std::vector<std::string>& command, const std::string& input = {},
                const TakeOutput& take = {});

} // namespace fiber::cli::kubernetes
