// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/page.hpp"

#include <array>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/sha.h>

namespace fiber::dashboard {
namespace {

using nlohmann::json;

/// The digest by which a Content-Security-Policy names a script.
std::string policy_digest(std::string_view script) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(script.data()), script.size(),
         digest.data());
  std::array<unsigned char, 64> text{};
  auto n = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return "sha256-" +
         std::string(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n));
}

/// Returns the JSON in a form that can stand in HTML: no '<' in it can end its element.
std::string in_html(const json& data) {
  auto text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (auto c : text)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

void replace(std::string& text, std::string_view what, const std::string& with) {
  auto at = text.find(what);
  if (at == text.npos)
    throw std::logic_error("the page has no " + std::string(what));
  text.replace(at, what.size(), with);
}

} // namespace

std::string report_page(const json& report) {
  std::string page(page_html());
  replace(page, "<!-- policy -->",
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src '" +
            policy_digest(page_script()) + "'\">");
  replace(page, "<link rel=\"stylesheet\" href=\"page.css\">",
          "<style>" + std::string(page_style()) + "</style>");
  replace(page, "<script src=\"page.js\" defer></script>",
          "<script type=\"application/json\" id=\"report\">" + in_html(report) +
            "</script>\n<script>" + std::string(page_script()) + "</script>");
  return page;
}

} // namespace fiber::dashboard
