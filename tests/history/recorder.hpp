// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace fiber::history {

/// A client, by the name that it has in the history, and the file with the history.
struct Client {
  std::string file;
  std::string name;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& file& name;
  }
};

/// Writes what one client asks and is told: checker/operations.py describes the lines.
/// Each is written at once and as a whole, so that a `kill -9` tears none.
///
/// Thread safety: each thread has a Recorder of its own.
class Recorder {
public:
  explicit Recorder(Client client) : client_(std::move(client)) {}

  /// Says what is asked. Returns the number of the call.
  std::uint64_t call(const std::string& object, const std::string& verb,
                     const nlohmann::json& value = nullptr);
  void returned(std::uint64_t call, const nlohmann::json& value = nullptr);
  void failed(std::uint64_t call, const std::string& why);
  /// Says that this process is the client, and how it is found from outside.
  void born() const;
  /// Says that something else happened: "kill", "end", "stop" or "run".
  void event(const std::string& what, const std::string& object,
             const nlohmann::json& value = nullptr);

  /// Records a call and its answer. Returns what `f` returns; throws what it throws.
  template <class F>
  auto ask(const std::string& object, const std::string& verb,
           const nlohmann::json& value, F f) {
    const auto number = call(object, verb, value);
    try {
      if constexpr (std::is_void_v<decltype(f())>) {
        f();
        returned(number);
      } else {
        auto answer = f();
        returned(number, json_of(answer));
        return answer;
      }
    } catch (const std::exception& error) {
      failed(number, error.what());
      throw;
    }
  }

private:
  template <class T>
  static nlohmann::json json_of(const T& value) {
    return value;
  }
  template <class T>
  static nlohmann::json json_of(const std::optional<T>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  }
  void write(nlohmann::json line) const;

  Client client_;
  std::uint64_t calls_ = 0;
};

} // namespace fiber::history
