// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace fiber::rl::vec {

/// What environments have done wrong so far. The counts are also series of the session's
/// live page.
class Incidents {
public:
  /// An environment threw this.
  void failed(int id, const std::string& text);
  /// The job of an environment that hung is replaced; `text` says which.
  void hung(const std::string& text);

  std::size_t errors() const { return errors_; }
  std::size_t hangs() const { return hangs_; }
  const std::string& first_error() const { return first_error_; }

private:
  std::size_t errors_ = 0, hangs_ = 0;
  std::string first_error_;
};

} // namespace fiber::rl::vec
