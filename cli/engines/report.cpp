// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/report.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

namespace fiber::cli {
namespace {

constexpr int detail_column = 47;

const char* word(Check::State state) {
  switch (state) {
  case Check::State::ok:
    return "ok";
  case Check::State::failed:
    return "FAIL";
  case Check::State::skipped:
    return "skipped";
  }
  return "";
}

/// Prints text from a column on; its further lines are indented to it.
void print_indented(const std::string& text) {
  for (char c : text) {
    std::putchar(c);
    if (c == '\n')
      std::printf("%*s", detail_column, "");
  }
  std::putchar('\n');
}

void print(const Check& check) {
  std::printf("%-11s %-18s %-7s %5.0f ms ", check.engine.c_str(), check.name.c_str(),
              word(check.state), check.seconds * 1000);
  print_indented(check.detail);
  if (!check.advice.empty()) {
    std::printf("%*s", detail_column, "");
    print_indented("-> " + check.advice);
  }
  std::fflush(stdout);
}

} // namespace

void Report::add(Check check) {
  if (!quiet_)
    print(check);
  checks_.push_back(std::move(check));
}

bool Report::check(const std::string& engine, const std::string& name,
                   const std::function<std::string()>& f) {
  Check made{.engine = engine, .name = name, .detail = {}, .advice = {}};
  auto begin = std::chrono::steady_clock::now();
  try {
    made.detail = f();
  } catch (const Trouble& trouble) {
    made.state = Check::State::failed;
    made.detail = trouble.what();
    made.advice = trouble.advice;
  } catch (const std::exception& error) {
    made.state = Check::State::failed;
    made.detail = error.what();
  }
  made.seconds =
    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add(made);
  return made.state == Check::State::ok;
}

void Report::skip(const std::string& engine, const std::string& name,
                  const std::string& why) {
  add({.engine = engine,
       .name = name,
       .state = Check::State::skipped,
       .detail = why,
       .advice = {}});
}

bool Report::failed() const {
  return std::ranges::any_of(
    checks_, [](auto& check) { return check.state == Check::State::failed; });
}

nlohmann::json Report::json() const {
  auto all = nlohmann::json::array();
  for (auto& check : checks_)
    all.push_back({{"engine", check.engine},
                   {"check", check.name},
                   {"state", word(check.state)},
                   {"seconds", check.seconds},
                   {"detail", check.detail},
                   {"advice", check.advice}});
  return {{"ok", !failed()}, {"checks", all}};
}

} // namespace fiber::cli
