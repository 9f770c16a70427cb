// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/exec_credential.hpp"

#include <locale>
#include <nlohmann/json.hpp>
#include <regex>

#include "backends/kubernetes/header.hpp"
#include "base/never_destroyed.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

/// Returns a member's text, or "" if it is absent or null.
std::string text_of(const json& object, const char* key) {
  auto member = object.find(key);
  if (member == object.end() || member->is_null())
    return {};
  if (!member->is_string())
    throw BadCredential(std::string(key) + " is no text");
  return member->get<std::string>();
}

std::string pem_of(const json& status, const char* key) {
  auto pem = text_of(status, key);
  if (!pem.empty() && pem.find("-----BEGIN ") == pem.npos)
    throw BadCredential("status." + std::string(key) + " is no PEM");
  return pem;
}

void check_kind(const json& answer, const std::string& api_version) {
  auto kind = text_of(answer, "kind");
  if (kind != "ExecCredential")
    throw BadCredential("kind is \"" + kind + "\", not ExecCredential");
  auto version = text_of(answer, "apiVersion");
  if (version != api_version)
    throw BadCredential("apiVersion is \"" + version + "\", but " + api_version +
                        " is configured");
}

int number(const std::smatch& match, int group) {
  return match[group].matched ? std::stoi(match[group]) : 0;
}

} // namespace

std::optional<std::chrono::sys_seconds> parse_timestamp(const std::string& text) {
  using namespace std::chrono;
  static const auto& form = *never_destroyed<std::regex>([] {
    std::regex empty; // With a pattern it would take the letters of the program's locale.
    empty.imbue(std::locale::classic());
    return empty.assign(
      R"((\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|([+-])(\d\d):(\d\d)))");
  }());
  std::smatch match;
  if (text.size() > 64 || !std::regex_match(text, match, form))
    return std::nullopt;
  year_month_day date{year(number(match, 1)),
                      month(static_cast<unsigned>(number(match, 2))),
                      day(static_cast<unsigned>(number(match, 3)))};
  if (!date.ok())
    return std::nullopt;
  seconds offset = hours(number(match, 10)) + minutes(number(match, 11));
  auto local = sys_days(date) + hours(number(match, 4)) + minutes(number(match, 5)) +
               seconds(number(match, 6));
  return match[9] == "-" ? local + offset : local - offset;
}

ExecCredential parse_exec_credential(const std::string& text,
                                     const std::string& api_version) {
  auto answer = json::parse(text, nullptr, false);
  if (!answer.is_object())
    throw BadCredential(text.empty() ? "it printed nothing"
                                     : "what it printed is no JSON object");
  check_kind(answer, api_version);
  auto status = answer.find("status");
  if (status == answer.end() || !status->is_object())
    throw BadCredential("there is no status");
  ExecCredential credential;
  credential.token = text_of(*status, "token");
  if (!fits_header(credential.token))
    throw BadCredential("status.token has a control character");
  credential.client_cert_pem = pem_of(*status, "clientCertificateData");
  credential.client_key_pem = pem_of(*status, "clientKeyData");
  if (credential.client_cert_pem.empty() != credential.client_key_pem.empty())
    throw BadCredential("status has only one of clientCertificateData and clientKeyData");
  if (credential.token.empty() && credential.client_cert_pem.empty())
    throw BadCredential("status has neither token nor clientCertificateData");
  if (auto expires = text_of(*status, "expirationTimestamp"); !expires.empty()) {
    credential.expires = parse_timestamp(expires);
    if (!credential.expires)
      throw BadCredential("status.expirationTimestamp is no RFC 3339 time");
  }
  return credential;
}

} // namespace fiber::backends::kubernetes
