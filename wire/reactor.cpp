// SPDX-License-Identifier: Apache-2.0
#include "wire/reactor.hpp"

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "wire/leadership.hpp"

namespace fiber::wire {

class Reactor::Impl {
public:
  Impl() : thread_([this] { leadership->stand_by(); }) {}
  ~Impl() {
    leadership->end();
    thread_.join();
    for (auto& member : take_members())
      if (auto alive = member.lock())
        alive->abandon();
    // Runs what abandon() cancelled and what other threads posted meanwhile. These
    // handlers may hold members, which hold the context.
    context->poll();
    context->stop();
  }

  void enlist(std::weak_ptr<ReactorMember> member) {
    const std::lock_guard lock(mutex_);
    if (members_.size() >= sweep_at_) {
      std::erase_if(members_, [](const auto& known) { return known.expired(); });
      sweep_at_ = 2 * members_.size() + 64;
    }
    members_.push_back(std::move(member));
  }

  const std::shared_ptr<boost::asio::io_context> context =
    std::make_shared<boost::asio::io_context>(1);
  const std::shared_ptr<Leadership> leadership = std::make_shared<Leadership>(context);

private:
  std::vector<std::weak_ptr<ReactorMember>> take_members() {
    const std::lock_guard lock(mutex_);
    return std::exchange(members_, {});
  }

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
    boost::asio::make_work_guard(*context);
  std::mutex mutex_;
  std::vector<std::weak_ptr<ReactorMember>> members_;
  std::size_t sweep_at_ = 64;
  std::thread thread_;
};

Reactor::Reactor() : impl_(std::make_unique<Impl>()) {}
Reactor::~Reactor() = default;
boost::asio::io_context& Reactor::context() {
  return *impl_->context;
}
void Reactor::post(std::function<void()> f) {
  impl_->leadership->post(std::move(f));
}
// Sets the timer from the caller's thread: no thread wakes before it is due.
void Reactor::after(std::chrono::milliseconds delay, std::function<void()> f) {
  auto timer = std::make_shared<boost::asio::steady_timer>(*impl_->context, delay);
  timer->async_wait([timer, f = std::move(f)](const boost::system::error_code& error) {
    if (!error)
      f();
  });
}

namespace {

void wait_for_signal(const std::shared_ptr<boost::asio::signal_set>& set,
                     std::function<void()> f) {
  set->async_wait(
    [set, f = std::move(f)](const boost::system::error_code& error, int) mutable {
      if (error)
        return;
      f();
      wait_for_signal(set, std::move(f));
    });
}

} // namespace

void Reactor::on_signal(int signal, std::function<void()> f) {
  wait_for_signal(std::make_shared<boost::asio::signal_set>(*impl_->context, signal),
                  std::move(f));
}
void Reactor::enlist(std::weak_ptr<ReactorMember> member) {
  impl_->enlist(std::move(member));
}
std::shared_ptr<boost::asio::io_context> Reactor::shared_context() {
  return impl_->context;
}
std::shared_ptr<Leadership> Reactor::leadership() {
  return impl_->leadership;
}

} // namespace fiber::wire
