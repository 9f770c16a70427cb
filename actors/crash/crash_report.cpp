// SPDX-License-Identifier: Apache-2.0
#include "actors/crash/crash_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>

#include "actors/crash/crash_handler.hpp"
#include "backends/output/crash_line.hpp"

namespace fiber::actors {
namespace {

/// Removes the word before `end` from the front of `text`, and `end`. Returns the word.
std::string_view take_word(std::string_view& text, char end) {
  auto word = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

template <class Number>
bool read_number(std::string_view word, Number& number, int base) {
  auto [end, error] =
    std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc() && end == word.data() + word.size();
}

template <class Number>
bool read_optional(std::string_view word, std::optional<Number>& number, int base) {
  return word == "-" || read_number(word, number.emplace(), base);
}

bool is_plain(char c) {
  return c > ' ' && c < 127;
}

bool read_escaped(std::string_view word, std::string& text) {
  while (!word.empty()) {
    unsigned char c = static_cast<unsigned char>(word.front());
    auto length = c == '%' ? 3U : 1U;
    if (word.size() < length || (c == '%' && !read_number(word.substr(1, 2), c, 16)))
      return false;
    text += static_cast<char>(c);
    word.remove_prefix(length);
  }
  return true;
}

/// Written as BUILD:NAME.
struct Object {
  std::string build, name;
};

bool read_objects(std::string_view words, std::vector<Object>& objects) {
  while (!words.empty()) {
    auto word = take_word(words, ',');
    auto build = take_word(word, ':');
    auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!std::all_of(build.begin(), build.end(), hex) ||
        objects.size() == max_crash_objects)
      return false;
    auto& object = objects.emplace_back(Object{std::string(build), {}});
    if (!read_escaped(word, object.name))
      return false;
  }
  return true;
}

/// Reads frames written as OBJECT+OFFSET or -+ADDRESS.
bool read_frames(std::string_view words, const std::vector<Object>& objects,
                 std::vector<CrashReport::Frame>& frames) {
  while (!words.empty()) {
    auto word = take_word(words, ',');
    auto where = take_word(word, '+');
    CrashReport::Frame frame;
    if (where != "-") {
      std::size_t object = 0;
      if (!read_number(where, object, 10) || object >= objects.size())
        return false;
      frame.build = objects[object].build;
      frame.object = objects[object].name;
    }
    if (!read_number(word, frame.offset, 16) || frames.size() == max_crash_frames)
      return false;
    frames.push_back(std::move(frame));
  }
  return true;
}

} // namespace

std::optional<CrashReport> CrashReport::parse(std::string_view line) {
  CrashReport report;
  std::vector<Object> objects;
  auto field = [&line](std::string_view name) -> std::optional<std::string_view> {
    auto word = take_word(line, ' ');
    if (take_word(word, '=') != name)
      return std::nullopt;
    return word;
  };
  auto read = [&](std::string_view name, auto&& reader) {
    auto word = field(name);
    return word && reader(*word);
  };
  if (!std::all_of(line.begin(), line.end(),
                   [](char c) { return c == ' ' || is_plain(c); }))
    return std::nullopt;
  auto whole =
    read("signal", [&](auto word) { return read_number(word, report.signal, 10); }) &&
    read("address", [&](auto word) { return read_optional(word, report.address, 16); }) &&
    read("sp", [&](auto word) { return read_number(word, report.stack_pointer, 16); }) &&
    read("slot", [&](auto word) { return read_optional(word, report.slot, 10); }) &&
    read("seq", [&](auto word) { return read_number(word, report.seq, 10); }) &&
    read("uncaught", [&](auto word) { return read_escaped(word, report.uncaught); }) &&
    read("objects", [&](auto word) { return read_objects(word, objects); }) &&
    read("frames", [&](auto word) { return read_frames(word, objects, report.frames); });
  // A line that was cut off lacks the last word.
  if (!whole || line != "end")
    return std::nullopt;
  return report;
}

std::string CrashReport::detail() const {
  if (signal == SIGKILL && !uncaught.empty()) // See report_lost_driver().
    return "the job ran, but its connection to the driver was closed or lost: " +
           uncaught + "; has a task closed descriptors of Fiber?";
  if (!uncaught.empty())
    return "uncaught " + uncaught;
  if (!address)
    return {};
  // A call moves the stack pointer down before it touches the stack. No other access so
  // near to the stack pointer fails.
  constexpr std::uint64_t widest_frame = 256 * 1024, first_page = 4096;
  if (signal == SIGSEGV && *address + widest_frame >= stack_pointer &&
      *address <= stack_pointer + first_page)
    return "stack overflow";
  if (signal == SIGSEGV && *address < first_page)
    return "null pointer";
  if (signal != SIGSEGV && signal != SIGBUS)
    return {};
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "address 0x%llx",
                static_cast<unsigned long long>(*address));
  return text.data();
}

LastOutput read_last_output(std::string_view output) {
  LastOutput last;
  for (auto at = output.rfind(backends::crash_mark); at != output.npos && !last.crash;
       at = at == 0 ? output.npos : output.rfind(backends::crash_mark, at - 1)) {
    auto line = output.substr(at + backends::crash_mark.size());
    if (auto end = line.find('\n'); end != line.npos)
      last.crash = CrashReport::parse(line.substr(0, end));
  }
  last.lines =
    last_lines(backends::without_crash_lines(output), max_last_lines, max_last_bytes);
  return last;
}

void drop_other_crash(LastOutput& last, std::optional<int> exit_code) {
  if (!last.crash || !exit_code)
    return;
  // If the handler hangs, its alarm ends the job: then SIGALRM fits any report. A job
  // that leads no process group ends by its exit code instead of SIGKILL.
  auto signal = last.crash->signal;
  if (*exit_code != -signal && *exit_code != -SIGALRM &&
      !(signal == SIGKILL && *exit_code == exit_orphan))
    last.crash.reset();
}

std::string last_lines(std::string_view text, std::size_t max_lines,
                       std::size_t max_bytes) {
  auto end = text.find_last_not_of(" \n\r\t");
  if (end == text.npos)
    return {};
  text = text.substr(0, end + 1);
  auto begin = text.size();
  for (auto end = text.size(); max_lines > 0; --max_lines) {
    auto newline = end == 0 ? text.npos : text.rfind('\n', end - 1);
    auto first = newline == text.npos ? 0 : newline + 1;
    if (text.size() - first > max_bytes)
      break;
    begin = first;
    if (newline == text.npos)
      break;
    end = newline;
  }
  if (begin == text.size())
    begin -= std::min(begin, max_bytes);
  text.remove_prefix(begin);
  return std::string(text);
}

} // namespace fiber::actors
