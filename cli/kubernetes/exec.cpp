// SPDX-License-Identifier: Apache-2.0
#include "cli/kubernetes/exec.hpp"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/http/web_socket.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/kubernetes/client.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::kubernetes {
namespace {

namespace http = backends::http;
using backends::http::WebSocketKind;
using nlohmann::json;

// The first byte of each message says which stream it belongs to. With this version of
// the protocol the status of the program comes as JSON.
constexpr auto protocol = "v4.channel.k8s.io";
constexpr char to_stdin = 0, from_stdout = 1, from_stderr = 2, status_channel = 3;
constexpr std::size_t piece_size = std::size_t{32} << 10;
constexpr std::size_t max_errors = 4096;

/// Returns the exit code in the status of a program, or nothing if it was not run.
std::optional<int> exit_code_of(const json& status) {
  if (backends::kubernetes::text(status, "status") == "Success")
    return 0;
  if (backends::kubernetes::text(status, "reason") != "NonZeroExitCode")
    return {};
  for (auto& cause : backends::kubernetes::part(status, "details", "causes")) {
    auto text = backends::kubernetes::text(cause, "message");
    int code = 0;
    if (backends::kubernetes::text(cause, "reason") == "ExitCode" &&
        std::from_chars(text.data(), text.data() + text.size(), code).ec == std::errc())
      return code;
  }
  return {};
}

/// One run of a program. Used on the loop's thread, except the future.
class Run : public std::enable_shared_from_this<Run> {
public:
  Run(const std::string& input, const TakeOutput& take) : input_(input), take_(take) {}

  std::future<ExecResult> result() { return promise_.get_future(); }

  void start(backends::kubernetes::Api& api, std::string path) {
    http::Request request{.path = std::move(path), .limit = {}, .protocol = "websocket"};
    request.headers = http::web_socket_headers(protocol);
    auto self = shared_from_this();
    api.upgrade(
      std::move(request),
      {.head = [self](int) { self->send_input(); },
       .data =
         [self](std::string_view bytes) {
           self->receive(bytes);
           return true;
         }},
      [self](const http::Reply& reply) {
        self->fail(reply.status != 0 && reply.status != 101
                     ? backends::kubernetes::problem(reply)
                     : "the connection broke: " + reply.error);
      },
      [self](auto connection) { self->connection_ = std::move(connection); });
  }

  void close() {
    over_ = true;
    if (auto connection = std::move(connection_))
      connection->close();
  }

private:
  void send_input() {
    for (std::size_t at = 0; at < input_.size(); at += piece_size)
      connection_->write(http::web_socket_frame(
        WebSocketKind::binary, std::string(1, to_stdin) + input_.substr(at, piece_size)));
  }

  void receive(std::string_view bytes) {
    if (over_)
      return;
    auto problem = reader_.feed(bytes, [this](WebSocketKind kind, std::string_view text) {
      if (kind == WebSocketKind::ping)
        return connection_->write(http::web_socket_frame(WebSocketKind::pong, text));
      if ((kind == WebSocketKind::text || kind == WebSocketKind::binary) && !text.empty())
        take(text.front(), text.substr(1));
    });
    if (!problem.empty())
      fail(problem);
  }

  void take(char channel, std::string_view text) {
    if (channel == from_stdout && !take_)
      result_.output += text;
    if (channel == from_stdout && take_ && !over_ && !take_(text)) {
      over_ = true;
      promise_.set_value(std::move(result_));
    }
    if (channel == from_stderr && result_.errors.size() < max_errors)
      result_.errors += text.substr(0, max_errors - result_.errors.size());
    if (channel == status_channel)
      finish(backends::kubernetes::parse_reply(std::string(text)));
  }

  void finish(const json& status) {
    auto code = exit_code_of(status);
    if (!code)
      return fail(backends::kubernetes::text(status, "message"));
    if (std::exchange(over_, true))
      return;
    result_.exit_code = *code;
    promise_.set_value(std::move(result_));
  }

  void fail(const std::string& problem) {
    if (!std::exchange(over_, true))
      promise_.set_exception(std::make_exception_ptr(Error(problem)));
  }

  const std::string input_;
  const TakeOutput take_;
  http::WebSocketReader reader_;
  std::shared_ptr<http::Client::Upgrade> connection_;
  ExecResult result_;
  bool over_ = false;
  std::promise<ExecResult> promise_;
};

} // namespace

ExecResult exec(Client& client, const std::string& pod, Interrupts& interrupts,
                const std::vector<std::string>& command, const std::string& input,
                const TakeOutput& take) {
  constexpr int look_every_ms = 50;
  auto path = pod + "/exec?container=" + backends::kubernetes::container_name +
              "&stdout=true&stderr=true" + (input.empty() ? "" : "&stdin=true");
  for (auto& word : command)
    path += "&command=" + http::escape(word);
  auto run = std::make_shared<Run>(input, take);
  auto result = run->result();
  client.loop().post([&client, run, path] { run->start(client.api(), path); });
  bool stopped = false;
  while (!stopped &&
         result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    pollfd signals{interrupts.fd(), POLLIN, 0};
    ::poll(&signals, 1, look_every_ms);
    stopped = interrupts.take().number != 0;
  }
  std::promise<void> closed;
  client.loop().post([&] {
    run->close();
    closed.set_value();
  });
  closed.get_future().wait();
  if (stopped)
    throw Error("stopped by a signal");
  return result.get();
}

} // namespace fiber::cli::kubernetes
