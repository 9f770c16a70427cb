// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fiber/checkpoint.hpp>
#include <fiber/pipe.hpp>
#include <fiber/pool.hpp>
#include <fiber/supervisor.hpp>

namespace fiber::e2e {

/// What a file does with its type Failed and its function play(), which are in an unnamed
/// namespace. Another file has a type and a function of the same names.
struct SameName {
  /// The failure of a task that throws a Failed.
  RemoteError (*failure)(Pool& pool);
  /// The text of the Failed that a failure throws again; "not mine" if it is no Failed.
  std::string (*rethrown)(const RemoteError& error);
  /// These send and save a Failed, and return the text of the one that came.
  void (*send)(const Connection& end);
  std::string (*receive)(const Connection& end);
  void (*save)(const Checkpoint& checkpoint);
  std::string (*load)(const Checkpoint& checkpoint);
  /// Spawns a Failed under a name, and asks the Failed of that name for its text.
  void (*spawn)(Supervisor& supervisor, const std::string& name);
  std::string (*find)(const std::string& name);
  /// Runs play() in the pool, with a journal.
  int (*play)(Pool& pool, const std::string& journal);
};
SameName one_file();
SameName other_file();

} // namespace fiber::e2e
