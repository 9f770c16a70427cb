// SPDX-License-Identifier: Apache-2.0
#include "actors/job/anchor.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "backends/anchor_linger.hpp"
#include "base/code_place.hpp"
#include "base/log.hpp"
#include "wire/error.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"

namespace fiber::actors {
namespace {

/// The limit on an engine's anchors that overlap.
constexpr std::size_t max_links = 8;

/// Notes that the driver is gone. The first reason counts.
class DriverWatch final : public wire::LinkHandler {
public:
  explicit DriverWatch(std::promise<void>& gone) : gone_(gone) {}
  void on_message(wire::StreamId, Bytes) override {}
  void on_silence() override { end("nothing heard from the driver for the whole lease"); }
  void on_closed(const wire::LinkEnd& link_end) override {
    end("the driver is gone: " + link_end.reason);
  }

private:
  void end(const std::string& why) {
    if (std::exchange(ended_, true))
      return;
    log().info("{}; this anchor ends, and the session's objects with it", why);
    gone_.set_value();
  }

  std::promise<void>& gone_;
  bool ended_ = false;
};

/// Ends the process, after the time that the backend asks for.
[[noreturn]] void end_after_driver() {
  if (auto* seconds = std::getenv(backends::anchor_linger))
    std::this_thread::sleep_for(std::chrono::seconds(std::atol(seconds)));
  std::_Exit(EXIT_SUCCESS);
}

} // namespace

/// The driver's handler of the link to an anchor. An anchor sends no messages, and is
/// replaced when it ends, so the handler only notes that the link is closed.
class AnchorLinks::Handler final : public wire::LinkHandler {
public:
  void on_message(wire::StreamId, Bytes) override {}
  void on_silence() override {}
  void on_closed(const wire::LinkEnd&) override { closed = true; }

  std::atomic<bool> closed{false};
};

void AnchorLinks::add(std::shared_ptr<wire::Link> link) {
  auto handler = std::make_shared<Handler>();
  link->start(handler);
  std::lock_guard lock(mutex_);
  std::erase_if(links_, [](auto& known) { return known.handler->closed.load(); });
  if (links_.size() == max_links) {
    log().warn("refused an anchor: {} of them are connected", max_links);
    return link->close();
  }
  links_.push_back({std::move(link), std::move(handler)});
}

void AnchorLinks::close() {
  std::lock_guard lock(mutex_);
  links_.clear();
}

void run_anchor(Bytes keys, const NodeBoot& boot) {
  wire::Reactor reactor;
  reactor.on_signal(SIGTERM, [] { std::_Exit(128 + SIGTERM); });
  std::shared_ptr<wire::Link> link;
  try {
    link = wire::dial(
      reactor, boot.host, boot.port, wire::Identity::unpack(std::move(keys)),
      {boot.session, build_id(), boot.incarnation}, 0, boot.lease,
      {.heartbeat_interval = boot.heartbeat_interval, .silence_limit = boot.lease});
  } catch (const wire::OtherBuild& error) {
    // Not success: the driver lives, and needs its workers to report the same error.
    log().error("{}", error.what());
    std::_Exit(exit_other_build);
  } catch (const std::exception& error) {
    log().error("this anchor can't connect to its driver: {}", error.what());
    end_after_driver();
  }
  std::promise<void> gone;
  link->start(std::make_shared<DriverWatch>(gone));
  gone.get_future().wait();
  end_after_driver();
}

} // namespace fiber::actors
