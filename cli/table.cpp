// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cli/printable.hpp"

namespace fiber::cli {

Table::Table(std::vector<std::string> titles) {
  for (auto& title : titles) {
    right_.push_back(title.starts_with('>'));
    title.erase(0, right_.back() ? 1 : 0);
  }
  rows_.push_back(std::move(titles));
}

std::vector<std::string> Table::lines() const {
  std::vector<std::size_t> widths(right_.size());
  for (auto& row : rows_)
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  std::vector<std::string> lines;
  for (auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      std::string space(widths[i] - width_of(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (right_[i] ? space + row[i] : row[i] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace fiber::cli
