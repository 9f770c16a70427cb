// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/manager/managed_objects.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/exit_code_text.hpp"
#include "fiber/error.hpp"
#include "tests/actors/objects/object_spaces.hpp"

namespace fiber::actors {

using detail::ObjectOp;

inline void call_nothing(detail::LivingObject&, Reader&, Writer&) {}

inline bool is_call(ObjectOp op) {
  return op == ObjectOp::call || op == ObjectOp::repeat;
}

inline Payload packed(std::uint64_t number, ObjectOp op, std::string_view text = "") {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(number);
  writer.put(op);
  if (is_call(op))
    detail::pack_entry<detail::CodeKind::call_object, &call_nothing>(writer);
  writer.raw(text.data(), text.size());
  return Payload(std::move(bytes));
}

inline Payload payload_of(std::string_view text) {
  Bytes bytes;
  Writer(bytes).raw(text.data(), text.size());
  return Payload(std::move(bytes));
}

inline std::string text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns a request as "call 2 text"; the places of functions are left out.
inline std::string told(const ObjectAsk& ask) {
  if (ask.what == AskKind::cancel)
    return "cancel";
  if (ask.what == AskKind::took)
    return "took";
  constexpr std::array names{"create",  "remake", "call",    "repeat",
                             "destroy", "ready",  "restore", "stop"};
  Reader reader(ask.body.bytes());
  auto number = reader.get<std::uint64_t>();
  auto op = reader.get<ObjectOp>();
  std::string text = names.at(static_cast<std::size_t>(op));
  if (op == ObjectOp::stop)
    return text + (reader.get<bool>() ? " at once" : " in turn");
  if (op == ObjectOp::restore)
    return text;
  text += " " + std::to_string(number);
  if (is_call(op)) {
    reader.text();
    reader.text();
    reader.get<std::uint64_t>();
  }
  return reader.empty() ? text : text + " " + text_in(reader.rest());
}

/// A host that notes requests. It answers by itself only those that make objects.
class NotingHost final : public ObjectHome {
public:
  explicit NotingHost(std::weak_ptr<ObjectSpace> space) : space_(std::move(space)) {}

  void asked(ObjectAsk ask) override {
    asks.push_back(std::move(ask));
    auto text = told(asks.back());
    seen += (seen.empty() ? "" : ", ") + text;
    if (makes_objects && (text.starts_with("create") || text.starts_with("remake") ||
                          text.starts_with("restore")))
      answer(text, {.what = Answer::done});
  }
  /// Answers the last request that reads so.
  void answer(std::string_view text, ObjectAnswer answer) {
    for (auto at = asks.rbegin(); at != asks.rend(); ++at)
      if (told(*at) == text)
        return space_.lock()->answer(at->who, std::move(answer));
    FAIL() << "no request " << text;
  }
  /// Returns the last request that reads so without having begun it.
  void give_back(std::string_view text) {
    for (auto at = asks.rbegin(); at != asks.rend(); ++at)
      if (told(*at) == text)
        return answer(text,
                      {.what = Answer::unbegun, .body = at->body, .kept = at->kept});
    FAIL() << "no request " << text;
  }
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t) override {}
  void close() override {}

  bool makes_objects = true;
  std::vector<ObjectAsk> asks;
  std::string seen;

private:
  const std::weak_ptr<ObjectSpace> space_;
};

inline std::exception_ptr killed() {
  return std::make_exception_ptr(WorkerLost(0, 1, {-9}, "killed by SIGKILL"));
}

/// Objects of a manager in the driver, with hosts in job 1 and callers in all processes.
/// The control object has number 1, the objects have the numbers from 2 on.
class ManagedObjectsTest : public ObjectSpaces {
protected:
  ManagedObjectsTest() { open(true); }

  void open(bool restartable) {
    control = nullptr;
    objects = std::make_shared<ManagedObjects>(at(0).shared_from_this(), restartable);
    control = objects->open();
    objects->watch(
      {.up = [this] { ++ups; },
       .failed = [this](std::exception_ptr why) { failures.push_back(why); }});
  }
  std::shared_ptr<ObjectHandle> add(std::string_view name) {
    return objects->add(packed(0, ObjectOp::create, name), {});
  }

  /// A host becomes ready in job 1.
  void start_host(bool makes_objects = true) {
    auto space = at(1).shared_from_this();
    host = std::make_shared<NotingHost>(space);
    host->makes_objects = makes_objects;
    space->ask(control->held_id(), AskKind::call, packed(0, ObjectOp::ready),
               {space->add(host)}, [](std::uint64_t, auto) {});
    run();
  }
  /// The link to job 1 ends; a new process takes its place. The manager is not told yet.
  void break_host() {
    lose(1);
    reconnect(1);
  }
  void lose_host(bool last) {
    break_host();
    objects->lost(killed(), last);
    run();
  }

  Outcome request(std::uint64_t process, const HeldId& id, Payload body,
                  AskKind what = AskKind::call) {
    auto outcome = std::make_shared<std::optional<ObjectAnswer>>();
    last_request = at(process).ask(
      id, what, std::move(body), {},
      [outcome](std::uint64_t, ObjectAnswer answer) { *outcome = std::move(answer); });
    run();
    return outcome;
  }
  Outcome call(const std::shared_ptr<ObjectHandle>& object, std::string_view text,
               ObjectOp op = ObjectOp::call, std::uint64_t process = 0) {
    auto id = object->held_id();
    return request(process, id, packed(id.number, op, text));
  }
  Outcome repeat(const std::shared_ptr<ObjectHandle>& object, std::string_view text) {
    return call(object, text, ObjectOp::repeat);
  }
  Outcome create(std::string_view name) {
    return request(0, control->held_id(), packed(0, ObjectOp::create, name));
  }
  std::shared_ptr<ObjectHandle> made(const Outcome& outcome) {
    EXPECT_TRUE(*outcome && (*outcome)->kept.size() == 1);
    return *outcome && !(*outcome)->kept.empty()
             ? at(0).handle((*outcome)->kept.front()->held_id())
             : nullptr;
  }
  void answer(std::string_view text, std::string_view value) {
    host->answer(text, {.what = Answer::value, .body = payload_of(value)});
    run();
  }

  std::shared_ptr<ManagedObjects> objects;
  std::shared_ptr<ObjectHandle> control;
  std::shared_ptr<NotingHost> host;
  int ups = 0;
  std::vector<std::exception_ptr> failures;
};

/// Returns what the caller got: "waiting", the value, or what went wrong.
inline std::string result(const std::shared_ptr<std::optional<ObjectAnswer>>& outcome) {
  if (!*outcome)
    return "waiting";
  auto& answer = **outcome;
  switch (answer.what) {
  case Answer::value:
    return text_in(answer.body.bytes());
  case Answer::closed:
    return "closed";
  case Answer::cancelled:
    return "cancelled";
  case Answer::refused:
    return "refused";
  case Answer::lost:
    break;
  default:
    return "answer " + std::to_string(static_cast<int>(answer.what));
  }
  if (!answer.error) { // From another process.
    Reader reader(answer.body.bytes());
    auto lost = read_lost_call(reader);
    return "lost, " + exit_code_text(lost.exit) + ": " + lost.text;
  }
  try {
    std::rethrow_exception(answer.error);
  } catch (const WorkerLost& lost) {
    return "lost, " + exit_code_text(lost.exits().front()) + ": " + lost.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

} // namespace fiber::actors
