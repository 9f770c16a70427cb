// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/access.hpp"

namespace fiber::backends::kubernetes {

void check_namespace(const std::string& name, const std::string& place) {
  const char* const inner = "abcdefghijklmnopqrstuvwxyz0123456789-";
  bool good = !name.empty() && name.size() <= 63 && name.front() != '-' &&
              name.back() != '-' && name.find_first_not_of(inner) == name.npos;
  if (!good)
    throw AccessError("namespace", place,
                      "at most 63 lower-case letters, digits and, within, '-'",
                      "\"" + name + "\" can't name a namespace");
}

} // namespace fiber::backends::kubernetes
