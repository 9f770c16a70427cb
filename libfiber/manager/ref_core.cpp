// SPDX-License-Identifier: Apache-2.0
#include "libfiber/manager/ref_core.hpp"

#include <typeinfo>
#include <utility>

#include "actors/protocol/node_protocol.hpp"
#include "base/demangle.hpp"
#include "fiber/containers.hpp"
#include "libfiber/results/one_result.hpp"

namespace fiber::detail {
namespace {

constexpr const char* name = "a Ref";

/// A result, and the objects that handles in it refer to.
struct Result {
  Payload bytes;
  KeptObjects kept;
};

std::exception_ptr lost_call(const actors::ObjectAnswer& answer) {
  if (answer.error)
    return answer.error;
  Reader reader(answer.body.bytes());
  auto lost = actors::read_lost_call(reader);
  return std::make_exception_ptr(
    WorkerLost(lost.text, lost.exit, lost.reason, {.log = lost.log}));
}

} // namespace

RawOutcome outcome_of_call(actors::ObjectSpace& objects, const HeldId& object,
                           std::uint64_t request, actors::ObjectAnswer answer) {
  using actors::Answer;
  if (!answer.kept.empty())
    objects.tell(object, request, actors::AskKind::took);
  Reader reader(answer.body.bytes());
  switch (answer.what) {
  case Answer::done:
    return {};
  case Answer::value: {
    if (answer.kept.empty())
      return {std::move(answer.body), nullptr};
    auto result =
      std::make_shared<Result>(Result{std::move(answer.body), std::move(answer.kept)});
    return {Payload(result, result->bytes.bytes()), nullptr};
  }
  case Answer::failed:
    return {{}, std::make_exception_ptr(RemoteError(actors::read_failure(reader)))};
  case Answer::lost:
    return {{}, lost_call(answer)};
  case Answer::refused:
    return {{}, std::make_exception_ptr(Error(reader.text()))};
  case Answer::cancelled:
    return {{}, std::make_exception_ptr(Cancelled("cancelled before it began"))};
  case Answer::closed:
  case Answer::other_type:
  case Answer::values:
  case Answer::unbegun:
  case Answer::recalled:
  case Answer::room:
  case Answer::reclaimed:
    break;
  }
  return {{},
          std::make_exception_ptr(Closed("the manager or supervisor of this object has "
                                         "ended, or the session"))};
}

std::shared_ptr<RefCore> RefCore::of(const ObjectPlace& place,
                                     const std::shared_ptr<actors::ObjectHandle>& held) {
  return held->shared_state<RefCore>(
    [&] { return std::shared_ptr<RefCore>(new RefCore(place, held)); });
}

void RefCore::pack(Writer& writer) const {
  place_.pack(writer, held_, name);
}

std::shared_ptr<RefCore> RefCore::unpack(Reader& reader) {
  auto [place, held] = ObjectPlace::unpack(reader, name);
  return of(place, held);
}

void RefCore::fail_closed() const {
  place_.check_open();
  throw Closed("the manager or supervisor of this object has ended");
}

RawOutcome RefCore::call(PackedItem item) {
  auto asked = ask(actors::AskKind::call, std::move(item), Results::forever);
  if (asked->answer.what == actors::Answer::closed)
    fail_closed();
  return outcome_of_call(*place_.objects, id(), asked->request, std::move(asked->answer));
}

/// A call that its caller does not wait for at once, and its result.
class RefCore::Call final : public OneResult {
public:
  explicit Call(std::shared_ptr<RefCore> ref)
    : OneResult(ref->place_.wait_point()), ref_(std::move(ref)) {}

  void sent_as(std::uint64_t request) { request_ = request; }
  void answered(std::uint64_t request, actors::ObjectAnswer answer) {
    set(outcome_of_call(objects(), ref_->id(), request, std::move(answer)));
  }
  void cancel() override {
    objects().tell(ref_->id(), request_, actors::AskKind::cancel);
  }

private:
  actors::ObjectSpace& objects() const { return *ref_->place_.objects; }

  const std::shared_ptr<RefCore> ref_;
  std::uint64_t request_ = 0;
};

std::shared_ptr<Results> RefCore::async(PackedItem item) {
  auto self = std::static_pointer_cast<RefCore>(shared_from_this());
  auto call = std::make_shared<Call>(std::move(self));
  call->sent_as(post(
    actors::AskKind::call, std::move(item),
    [call](std::uint64_t request, actors::ObjectAnswer answer) {
      call->answered(request, std::move(answer));
    },
    actors::Haste::soon));
  return call;
}

void RefCore::send(PackedItem item) {
  ObjectCore::send(actors::AskKind::call, std::move(item), Results::forever);
}

// -- handles --

const std::shared_ptr<RefCore>& ObjectRef::core() const {
  if (!core_)
    throw Error("a Ref that stands for nothing was used; Manager::create or "
                "Supervisor::spawn makes one");
  return core_;
}

void ObjectRef::begin(Writer& writer, ObjectOp op) const {
  writer.put(core()->id().number);
  writer.put(op);
}

RawOutcome ObjectRef::call(PackedItem item) const {
  return core()->call(std::move(item));
}
std::shared_ptr<Results> ObjectRef::async(PackedItem item) const {
  return core()->async(std::move(item));
}
void ObjectRef::send(PackedItem item) const {
  core()->send(std::move(item));
}
bool ObjectRef::operator==(const ObjectRef& other) const {
  return core_ && other.core_ ? core_->id() == other.core_->id() : core_ == other.core_;
}
void ObjectRef::fiber_pack(Writer& writer) const {
  writer.put(core_ != nullptr);
  if (core_)
    core_->pack(writer);
}
ObjectRef ObjectRef::fiber_unpack(Reader& reader) {
  return reader.get<bool>() ? ObjectRef(RefCore::unpack(reader)) : ObjectRef();
}

void NamespaceMap::throw_other_type(const std::string& name, const std::type_info& is,
                                    const std::type_info& asked) {
  throw Error("'" + name + "' is a " + demangle(is.name()) + ", and a " +
              demangle(asked.name()) + " was asked for");
}

} // namespace fiber::detail
