// SPDX-License-Identifier: Apache-2.0
#include "tests/history/recorder.hpp"

#include <array>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace fiber::history {
namespace {

/// One clock for all processes of a machine.
std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

} // namespace

std::uint64_t Recorder::call(const std::string& object, const std::string& verb,
                             const nlohmann::json& value) {
  write({{"event", "call"},
         {"op", calls_},
         {"object", object},
         {"do", verb},
         {"value", value}});
  return calls_++;
}

void Recorder::born() const {
  std::array<char, 64> space{}; // Of process ids: that of a container is its own.
  if (::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0)
    std::abort();
  const auto* node = std::getenv("NODE_NAME"); // Of a pod.
  write({{"event", "born"},
         {"value",
          {{"pid", ::getpid()},
           {"space", space.data()},
           {"node", node == nullptr ? "" : node}}}});
}

void Recorder::returned(std::uint64_t call, const nlohmann::json& value) {
  write({{"event", "return"}, {"op", call}, {"value", value}});
}

void Recorder::failed(std::uint64_t call, const std::string& why) {
  write({{"event", "error"}, {"op", call}, {"value", why}});
}

void Recorder::event(const std::string& what, const std::string& object,
                     const nlohmann::json& value) {
  write({{"event", what}, {"object", object}, {"value", value}});
}

void Recorder::write(nlohmann::json line) const {
  const UniqueFd file(
    ::open(client_.file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  line["who"] = client_.name;
  line["t"] = now();
  const auto text = line.dump() + "\n";
  if (!file ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::abort(); // A history with holes says nothing.
}

} // namespace fiber::history
