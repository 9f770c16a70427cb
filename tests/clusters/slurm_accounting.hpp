// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace fiber::clusters {

/// A Slurm with accounting and the limits of associations, beside the one of the other
/// tests. While it exists, slurm() and ask_slurm() mean this cluster.
class SlurmAccounting {
public:
  /// Brings the cluster up. slurm() must be up. Takes some 10 s.
  SlurmAccounting();
  ~SlurmAccounting();
  SlurmAccounting(const SlurmAccounting&) = delete;
  SlurmAccounting& operator=(const SlurmAccounting&) = delete;

  bool is_up() const { return is_up_; }
  /// Limits the jobs of this user: "maxsubmitjobs=10". A limit of -1 is none. Returns
  /// once the controller knows.
  void limit(const std::string& what);
  /// Sets a variable of this process as long as the cluster exists.
  void set(const std::string& name, const std::string& value);

private:
  int run(const std::string& script) const;

  std::string scripts_;
  std::map<std::string, std::optional<std::string>> before_;
  bool is_up_ = false;
};

} // namespace fiber::clusters
