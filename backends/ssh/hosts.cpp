// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "backends/registry.hpp"
#include "base/trusted_file.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr std::size_t max_slots_of_host = 4096;
constexpr auto valid_line = "HOST [slots=N] [max_slots=N] [# comment]";

/// Where a host was named, for errors.
struct Place {
  const char* key;
  std::string place;
  const char* valid;

  [[noreturn]] void fail(const std::string& problem) const {
    throw SettingError(key, place, valid, problem);
  }
};

std::size_t slots_of(const std::string& text, const Place& place) {
  std::size_t slots = 0;
  const auto* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, slots);
  if (parsed.ec != std::errc() || parsed.ptr != end || slots == 0 ||
      slots > max_slots_of_host)
    place.fail("'" + text + "' is no number of slots from 1 to " +
               std::to_string(max_slots_of_host));
  return slots;
}

/// Checks a name, which becomes an argument of ssh and must be none of its options.
std::string host_name(const std::string& text, const Place& place) {
  const auto is_odd = [](unsigned char c) {
    return c <= ' ' || c == 0x7f || std::strchr("'\"\\$`;|&<>(),#", c) != nullptr;
  };
  if (text.empty() || text.starts_with('-') || std::ranges::any_of(text, is_odd))
    place.fail("'" + text + "' is no host");
  return text;
}

void add(std::vector<HostEntry>& hosts, HostEntry host, const Place& place) {
  if (std::ranges::find(hosts, host.name, &HostEntry::name) != hosts.end())
    place.fail("the host '" + host.name + "' is listed twice: give it more slots");
  hosts.push_back(std::move(host));
}

HostEntry host_of_line(std::istream& words, const std::string& name, const Place& place) {
  HostEntry host{.name = host_name(name, place)};
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    auto option = word.substr(0, equals);
    const auto value = equals == word.npos ? "" : word.substr(equals + 1);
    std::ranges::replace(option, '-', '_');
    if (option == "slots")
      host.slots = slots_of(value, place);
    else if (option == "max_slots")
      host.max_slots = slots_of(value, place);
    else
      place.fail("'" + word + "' is unknown");
  }
  if (host.max_slots != 0 && host.max_slots < host.slots)
    place.fail("max_slots is less than slots");
  return host;
}

} // namespace

std::vector<HostEntry> parse_hosts(const std::string& text, const std::string& where) {
  const Place place{"ssh_hosts", where, valid_hosts};
  std::vector<HostEntry> hosts;
  for (auto& part : parts_of(text)) {
    HostEntry host;
    const auto bracket = part.starts_with('[') ? part.find(']') : part.npos;
    const auto colon = part.find(':', bracket == part.npos ? 0 : bracket);
    auto name = part.substr(0, colon);
    if (bracket != part.npos) // "[::1]:4"
      name = part.substr(1, bracket - 1);
    host.name = host_name(name, place);
    if (colon != part.npos)
      host.slots = slots_of(part.substr(colon + 1), place);
    add(hosts, std::move(host), place);
  }
  if (hosts.empty())
    place.fail("no host is named");
  return hosts;
}

std::vector<HostEntry> read_hostfile(const std::string& path) {
  const auto text = read_trusted(path);
  if (!text)
    throw SettingError("ssh_hostfile", path, "the path of a file that can be read",
                       std::strerror(errno));
  std::vector<HostEntry> hosts;
  fiber::detail::Classic<std::istringstream> lines(*text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const Place place{"ssh_hostfile", path + ":" + std::to_string(++number), valid_line};
    fiber::detail::Classic<std::istringstream> words(line.substr(0, line.find('#')));
    if (std::string name; words >> name)
      add(hosts, host_of_line(words, name, place), place);
  }
  if (hosts.empty())
    throw SettingError("ssh_hostfile", path, valid_line, "it names no host");
  return hosts;
}

} // namespace fiber::backends::ssh
