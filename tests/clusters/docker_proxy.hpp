// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace fiber::clusters {

/// Stands between a client and the socket of an engine, and spoils what it is told to.
class DockerProxy {
public:
  enum class Harm {
    swallow,   ///< The engine never gets the request, the client never a reply,
               ///< and the connection breaks once break_swallowed() is called.
    lose_reply ///< The engine does what it is asked; then the connection breaks.
  };

  /// `engine`: "unix:///PATH".
  explicit DockerProxy(const std::string& engine);
  ~DockerProxy();
  DockerProxy(const DockerProxy&) = delete;
  DockerProxy& operator=(const DockerProxy&) = delete;

  std::string host() const { return "unix://" + path_.string(); }
  /// Harms the next `times` requests whose first line contains `text`. What earlier calls
  /// have ordered stays in force.
  void harm(Harm harm, std::string text, int times);
  /// Harms no request from now on.
  void heal();
  /// Breaks the connection of each request that was swallowed, and of each that will be.
  void break_swallowed() { breaking_ = true; }
  /// How many it has harmed.
  int harmed() const { return harmed_; }
  /// How many it has seen whose first line contains `text`.
  int seen(const std::string& text) const;

private:
  enum class Fate { pass, swallow, lose_reply };

  void accept();
  void serve(UniqueFd client);
  Fate fate_of(std::string_view request);

  std::string engine_;
  std::filesystem::path path_;
  UniqueFd listener_;
  std::atomic<bool> stopping_ = false, breaking_ = false;
  std::atomic<int> harmed_ = 0;
  mutable std::mutex mutex_; // Guards what follows.
  struct Order {
    Harm harm;
    std::string text;
    int times;
  };
  std::vector<Order> orders_;
  std::vector<std::string> lines_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

} // namespace fiber::clusters
