// SPDX-License-Identifier: Apache-2.0
#include "wire/reactor.hpp"

#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace fiber::wire {

class Reactor::Impl {
public:
  Impl() : work_(boost::asio::make_work_guard(context)), thread_([this] { context.run(); }) {}
  ~Impl() {
    context.stop();
    thread_.join();
  }
  boost::asio::io_context context{1};

private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

Reactor::Reactor() : impl_(std::make_unique<Impl>()) {}
Reactor::~Reactor() = default;
boost::asio::io_context& Reactor::context() { return impl_->context; }
void Reactor::post(std::function<void()> f) { boost::asio::post(impl_->context, std::move(f)); }

} // namespace fiber::wire
