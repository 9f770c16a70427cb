// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/access.hpp"
#include "tests/backends/http/https_server.hpp"

namespace fiber::backends::kubernetes {

/// A fault: what a ScriptedApi does instead of serving a request.
struct Fault {
  enum class Kind {
    answer,      ///< Replies with `status` and `body`.
    reset,       ///< Resets the connection without serving the request.
    reset_after, ///< Serves the request, then resets the connection.
    cut,         ///< Ends the connection after `bytes` of a log.
    late         ///< Delays the reply until `release` is set.
  };
  Kind kind = Kind::answer;
  int status = 500;
  std::string body = {}; ///< Empty: a Status that says "STATUS on purpose".
  HttpsConnection::Headers headers = {};
  std::size_t bytes = 0;
  std::shared_future<void> release = {};
};

/// A small API server with pods, secrets and jobs; the test plays the kubelet. Requests
/// have RBAC's names: "create pods", "watch pods", "get pods/log".
///
/// Thread safety: any thread may call any member function.
class ScriptedApi {
public:
  using json = nlohmann::json;
  static constexpr int always = 1 << 30;

  ScriptedApi();
  ~ScriptedApi();

  Access access() const;
  std::string url() const;
  int port() const { return server_.port(); }
  std::size_t handshakes() const { return server_.handshakes(); }

  /// Makes the next `times` requests of this name meet the fault, in the order of the
  /// calls.
  void spoil(const std::string& request, Fault fault, int times = 1);
  std::vector<HttpsRequest> seen(const std::string& request) const;
  std::size_t count(const std::string& request) const { return seen(request).size(); }
  /// Waits until `count` requests of this name have come. Returns how many have.
  std::size_t wait_for(const std::string& request, std::size_t count) const;

  std::atomic<bool> plays_kubelet = true; ///< Pods run at once and end when deleted.
  std::atomic<bool> drops_ttl = false, refuses_ttl = false;
  void set_date(const std::string& date); ///< Sets the date of replies.
  /// Makes this token the only valid one; at first any is valid.
  void accept_only(const std::string& token);

  /// Returns the objects of a kind, by name.
  std::map<std::string, json> objects(const std::string& kind) const;
  /// Returns an object, or null.
  json object(const std::string& kind, const std::string& name) const {
    return objects(kind)[name];
  }
  /// Waits for the pod of a job and returns it.
  std::string pod_of(const std::string& job) const;
  void run(const std::string& pod);
  void end(const std::string& pod, int code);
  /// Merges `patch` into the pod.
  void change(const std::string& pod, const json& patch);
  void remove(const std::string& pod);
  /// Replaces a pod by another one of the same name. Watches report it if `told`.
  void replace(const std::string& pod, bool told);
  void print(const std::string& pod, const std::string& text);

  // Effects on running watches:
  /// Ends them; `last` is their last event.
  void end_watches(const std::string& last = "");
  void mute_watches(); ///< Keeps them open but silent.
  void bookmark();
  /// Drops all past events, as a compaction does.
  void forget();

private:
  struct Event {
    std::uint64_t version = 0;
    std::string type;
    json object;
  };
  struct Log {
    std::vector<std::pair<std::chrono::steady_clock::time_point, std::string>> pieces;
  };

  void serve(const HttpsRequest& request, HttpsConnection& connection);
  bool misbehave(const std::string& name, const HttpsRequest& request,
                 HttpsConnection& connection);
  std::pair<int, json> answer(const std::string& verb, const HttpsRequest& request);
  std::pair<int, json> create(const std::string& kind, json object);
  std::pair<int, json> erase(const std::string& kind, const std::string& name);
  void watch(const HttpsRequest& request, HttpsConnection& connection);
  void log(const HttpsRequest& request, HttpsConnection& connection, std::size_t most);
  void note(const std::string& type, json& pod);
  void terminate(const std::string& pod);
  void run_locked(const std::string& pod);
  void end_locked(const std::string& pod, int code);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, std::map<std::string, json>> objects_; // By kind and name.
  std::map<std::string, Log> logs_;
  std::vector<Event> events_;
  std::uint64_t version_ = 1000, oldest_ = 0, uid_ = 0;
  std::map<std::string, std::vector<std::pair<Fault, int>>> faults_;
  std::vector<std::pair<std::string, HttpsRequest>> seen_;
  std::optional<std::string> token_;
  std::string date_;
  // A watch obeys commands from after its start.
  std::uint64_t order_ = 0, ended_ = 0, muted_ = 0, forgotten_ = 0;
  std::string last_words_;
  bool stopping_ = false;
  HttpsServer server_;
};

} // namespace fiber::backends::kubernetes
