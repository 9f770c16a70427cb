// SPDX-License-Identifier: Apache-2.0
#include "actors/ring/ring_board.hpp"

#include <utility>

#include "fiber/byte_stream.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {

void write(Writer& writer, const RingRequest& request) {
  writer.put(request.op);
  writer.text(request.key);
  writer.raw(request.value.bytes().data(), request.value.size());
}

RingRequest read_ring_request(const Payload& body) {
  Reader reader(body.bytes());
  auto op = reader.get<std::uint8_t>();
  if (op > static_cast<std::uint8_t>(RingOp::report))
    throw Error("unknown ring operation " + std::to_string(op));
  RingRequest request{static_cast<RingOp>(op), reader.text()};
  auto left = reader.rest().size();
  request.value = body.slice(body.size() - left, left);
  return request;
}

RingBoard::Replies RingBoard::handle(const Asker& who, RingRequest request) {
  Replies replies;
  switch (request.op) {
  case RingOp::set: {
    auto& value = values_[request.key] = std::move(request.value);
    replies.push_back({who});
    std::erase_if(waiting_, [&](auto& each) {
      if (each.key != request.key)
        return false;
      replies.push_back({each.who, Answer::value, value});
      return true;
    });
    break;
  }
  case RingOp::get:
    if (auto known = values_.find(request.key); known != values_.end())
      replies.push_back({who, Answer::value, known->second});
    else
      waiting_.push_back({who, std::move(request.key)});
    break;
  case RingOp::leave:
    leaving_.push_back(who);
    if (leaving_.size() == members_)
      for (auto& each : std::exchange(leaving_, {}))
        replies.push_back({each});
    break;
  case RingOp::report:
    collectives_ = Reader(request.value.bytes()).get<std::uint64_t>();
    replies.push_back({who});
    break;
  }
  return replies;
}

RingBoard::Replies RingBoard::cancel(const Asker& who) {
  auto n = std::erase_if(waiting_, [&](auto& each) { return each.who == who; }) +
           std::erase(leaving_, who);
  return n > 0 ? Replies{{who, Answer::cancelled}} : Replies{};
}

void RingBoard::gone(std::uint64_t process) {
  std::erase_if(waiting_, [&](auto& each) { return each.who.process == process; });
  std::erase_if(leaving_, [&](auto& each) { return each.process == process; });
}

std::vector<Asker> RingBoard::waiting() const {
  auto all = leaving_;
  for (auto& each : waiting_)
    all.push_back(each.who);
  return all;
}

namespace {

/// The board as an object. Not an actor: the thread that brings a request handles it.
class RingHome final : public ObjectHome {
public:
  RingHome(std::weak_ptr<ObjectSpace> space, std::size_t members,
           std::shared_ptr<RingProgress> progress)
    : space_(std::move(space)), progress_(std::move(progress)), board_(members) {}

  void asked(ObjectAsk ask) override {
    switch (ask.what) {
    case AskKind::call: {
      try {
        auto request = read_ring_request(ask.body);
        std::lock_guard lock(mutex_);
        auto replies = board_.handle(ask.who, std::move(request));
        progress_->collectives = board_.collectives();
        return reply(replies);
      } catch (const Error& error) {
        return reply({{ask.who, Answer::refused, {}, error.what()}});
      }
    }
    case AskKind::cancel: {
      std::lock_guard lock(mutex_);
      return reply(board_.cancel(ask.who));
    }
    case AskKind::took:
      return;
    default:
      reply(
        {{ask.who, Answer::refused, {}, "it is a ring, and neither a queue nor a pipe"}});
    }
  }
  void freed(std::uint64_t) override { close(); }
  void gone(std::uint64_t process) override {
    std::lock_guard lock(mutex_);
    board_.gone(process);
  }
  void close() override {
    RingBoard::Replies replies;
    std::lock_guard lock(mutex_);
    for (auto& who : board_.waiting())
      replies.push_back({who, Answer::closed});
    reply(replies);
  }

private:
  /// Requires the lock, since the answers to one member must keep their order.
  void reply(const RingBoard::Replies& replies) {
    auto space = space_.lock();
    if (!space)
      return;
    for (auto& each : replies) {
      if (each.what == Answer::refused)
        space->refuse(each.to, each.why);
      else
        space->answer(each.to, {.what = each.what, .body = each.value});
    }
  }

  const std::weak_ptr<ObjectSpace> space_;
  const std::shared_ptr<RingProgress> progress_;
  std::mutex mutex_;
  RingBoard board_;
};

} // namespace

std::shared_ptr<ObjectHandle> open_ring_board(const std::shared_ptr<ObjectSpace>& space,
                                              std::size_t members,
                                              std::shared_ptr<RingProgress> progress) {
  return space->add(std::make_shared<RingHome>(space, members, std::move(progress)));
}

} // namespace fiber::actors
