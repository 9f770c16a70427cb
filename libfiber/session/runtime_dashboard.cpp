// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <system_error>

#include "base/log.hpp"
#include "base/random_id.hpp"
#include "libfiber/dashboard/dashboard.hpp"
#include "libfiber/dashboard/report_file.hpp"
#include "libfiber/session/runtime.hpp"
#include "libfiber/session/setting_keys.hpp"

// The page of a session, and the file that it leaves.

namespace fiber::detail {
namespace {

std::string valid_values(const std::string& name) {
  for (auto& key : setting_keys())
    if (key.name == name)
      return key.valid;
  return {};
}

/// The token that viewers must know: that of the settings, or a fresh one.
std::string token_of(const Settings& settings) {
  if (settings.dashboard_token == no_token)
    return {};
  return settings.dashboard_token.empty() ? random_id() + random_id() + random_id()
                                          : settings.dashboard_token;
}

} // namespace

void Runtime::open_dashboard() {
  if (!settings_.dashboard_host.empty()) {
    const auto token = token_of(settings_);
    try {
      dashboard_ = std::make_unique<dashboard::Dashboard>(
        dashboard::DashboardOptions{.host = settings_.dashboard_host,
                                    .port = settings_.dashboard_port,
                                    .token = token,
                                    .certificate = settings_.dashboard_certificate,
                                    .key = settings_.dashboard_key},
        *view_);
    } catch (const dashboard::SettingProblem& problem) {
      auto& places = settings_.places; // What is missing has none.
      auto place =
        places.contains(problem.key()) ? places[problem.key()] : places["dashboard"];
      throw ConfigError(problem.key(), place, valid_values(problem.key()),
                        problem.what());
    }
    // A warning, because that is what is shown by default: who asks for the page must
    // learn its port.
    // A token of the settings is known to them, and is shown nowhere.
    const auto address = dashboard_->url() + (token.empty() ? "" : "?token=");
    log().warn("dashboard at {}{}", address,
               settings_.dashboard_token.empty() ? token
               : token.empty()                   ? ""
                                                 : "...");
    view_->set_page(address + token);
  }
  if (settings_.report.empty())
    return;
  try {
    report_ = std::make_unique<dashboard::ReportFile>(settings_.report, *view_);
  } catch (const std::system_error& error) {
    throw ConfigError("report", settings_.places["report"], valid_values("report"),
                      "'" + settings_.report + "': " + error.code().message());
  }
}

void Runtime::close_dashboard() {
  report_.reset();
  dashboard_.reset();
}

} // namespace fiber::detail
