// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber::cli {

/// Rows of cells under titles, aligned. A title that begins with '>' is that of numbers,
/// which stand at the right.
class Table {
public:
  explicit Table(std::vector<std::string> titles);
  /// A row may be shorter than the titles.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Returns the titles and the rows, each without spaces at its end.
  std::vector<std::string> lines() const;

private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_; ///< The titles first.
};

} // namespace fiber::cli
