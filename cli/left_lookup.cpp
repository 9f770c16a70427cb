// SPDX-License-Identifier: Apache-2.0
#include "cli/left_lookup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "cli/engines/process_end.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void put(const std::string& name, const std::optional<std::string>& value) {
  if (value)
    ::setenv(name.c_str(), value->c_str(), 1);
  else
    ::unsetenv(name.c_str());
}

/// Returns the answer as the process of a lookup writes it.
std::string answer_of(const observer::SessionNote& note) {
  try {
    EngineVariables variables(note.variables);
    return json{{"left", tools_of(note).look(note.id).list()}}.dump();
  } catch (const std::exception& error) {
    return json{{"problem", error.what()}}.dump(-1, ' ', false,
                                                json::error_handler_t::replace);
  }
}

/// The question to the engine of one session.
class Lookup {
public:
  explicit Lookup(const observer::SessionNote& note) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe2");
    out_.reset(ends[0]);
    UniqueFd in(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0)
      throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
      auto answer = answer_of(note);
      for (std::size_t at = 0; at < answer.size();) {
        auto n = ::write(in.get(), answer.data() + at, answer.size() - at);
        if (n <= 0)
          break;
        at += static_cast<std::size_t>(n);
      }
      ::_exit(0);
    }
  }
  Lookup(Lookup&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), out_(std::move(other.out_)) {}
  Lookup& operator=(Lookup&&) = delete;
  ~Lookup() {
    if (pid_ <= 0)
      return;
    auto helpers = descendants_of(pid_); // squeue has a process group of its own.
    ::kill(pid_, SIGKILL);
    for (auto& helper : helpers)
      helper.send(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  LeftAnswer read(Clock::time_point limit, milliseconds patience) {
    std::string text;
    for (;;) {
      auto left = std::chrono::ceil<milliseconds>(limit - Clock::now()).count();
      pollfd wait{out_.get(), POLLIN, 0};
      auto ready = ::poll(&wait, 1, left > 0 ? static_cast<int>(left) : 0);
      if (ready < 0 && errno == EINTR)
        continue;
      if (ready <= 0)
        return {.problem =
                  "no answer in " + json(patience.count() / 1000.0).dump() + " s"};
      char piece[4096];
      auto n = ::read(out_.get(), piece, sizeof piece);
      if (n <= 0)
        break;
      text.append(piece, static_cast<std::size_t>(n));
    }
    auto told = json::parse(text, nullptr, false);
    if (!told.is_object())
      return {.problem = "the process that asked the engine has crashed"};
    return {.left = told.value("left", std::vector<std::string>()),
            .problem = told.value("problem", "")};
  }

private:
  pid_t pid_ = 0;
  UniqueFd out_;
};

} // namespace

EngineVariables::EngineVariables(const std::map<std::string, std::string>& variables) {
  for (auto& [name, value] : variables)
    set(name, value);
  for (auto* name : observer::engine_variables)
    if (!variables.contains(name))
      set(name, std::nullopt);
}

EngineVariables::~EngineVariables() {
  for (auto& [name, value] : before_)
    put(name, value);
}

void EngineVariables::set(const std::string& name, const Value& value) {
  auto* old = std::getenv(name.c_str());
  before_[name] = old ? Value(old) : std::nullopt;
  put(name, value);
}

const LeftTools& tools_of(const observer::SessionNote& note) {
  for (auto& tools : left_tools())
    if (tools.engine == note.backend)
      return tools;
  throw Error("this build of fiber has no backend " + note.backend);
}

std::vector<LeftAnswer> look_up_left(const std::vector<observer::SessionNote>& notes,
                                     milliseconds patience) {
  auto limit = Clock::now() + patience;
  std::vector<Lookup> lookups;
  lookups.reserve(notes.size());
  for (auto& note : notes)
    lookups.emplace_back(note);
  std::vector<LeftAnswer> answers;
  for (auto& lookup : lookups)
    answers.push_back(lookup.read(limit, patience));
  return answers;
}

} // namespace fiber::cli
