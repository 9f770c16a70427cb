// SPDX-License-Identifier: Apache-2.0
#pragma once

// dashboard/ shows a session as a page in a browser: the page itself (page), its server
// (dashboard) with what guards it (guard, listen), and the file that needs no server
// (report_file).

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace fiber::dashboard {

/// The parts of the page, from the folder page/.
std::string_view page_html();
std::string_view page_style();
std::string_view page_script();

/// Returns the page as one file that shows `report`, which SessionView::report() has
/// made, and runs nothing but its own script.
std::string report_page(const nlohmann::json& report);

} // namespace fiber::dashboard
