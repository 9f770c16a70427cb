// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/incidents.hpp"

#include "base/log.hpp"
#include "fiber/error.hpp"
#include "fiber/publish.hpp"

namespace fiber::rl::vec {
namespace incident_series {
namespace {

void add(const char* name, std::size_t count) {
  try {
    publish(name, static_cast<double>(count));
  } catch (const Error&) {
    // There is no session, or it has ended: environments in this process need none.
  }
}

} // namespace
} // namespace incident_series

void Incidents::failed(int id, const std::string& text) {
  if (++errors_ == 1)
    first_error_ = "environment " + std::to_string(id) + " failed: " + text;
  incident_series::add("environment errors", errors_);
}

void Incidents::hung(const std::string& text) {
  ++hangs_;
  log().warn("{}", text);
  incident_series::add("environment hangs", hangs_);
}

} // namespace fiber::rl::vec
