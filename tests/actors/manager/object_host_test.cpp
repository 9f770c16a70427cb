// SPDX-License-Identifier: Apache-2.0
// The promise: a host runs the calls on one object one at a time and in order, answers
// each of them, and outlives what a call throws; when it stops, it destroys its objects
// and gives back what has not begun.
#include "actors/manager/object_host.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/protocol/node_protocol.hpp"
#include "tests/actors/objects/object_spaces.hpp"

namespace fiber::actors {
namespace {

using detail::LivingObject;
using detail::ObjectOp;

constexpr std::chrono::seconds deadline{60};

/// What the objects of a test do, in order, and the signals that their calls wait for.
class Journal {
public:
  void add(const std::string& line) {
    std::lock_guard lock(mutex_);
    text_ += (text_.empty() ? "" : ", ") + line;
  }
  std::string take() {
    std::lock_guard lock(mutex_);
    return std::exchange(text_, {});
  }
  void raise(const std::string& signal) {
    std::lock_guard lock(mutex_);
    signals_.insert(signal);
    changed_.notify_all();
  }
  /// Returns false if the signal does not come.
  bool await(const std::string& signal) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, deadline, [&] { return signals_.contains(signal); });
  }
  void clear() {
    std::lock_guard lock(mutex_);
    text_.clear();
    signals_.clear();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::set<std::string> signals_;
};

Journal journal; // Calls are plain functions, so they find it only here.

struct Actor final : LivingObject {
  explicit Actor(std::string with) : name(std::move(with)) {
    journal.add("made " + name);
  }
  ~Actor() override { journal.add("destroyed " + name); }
  void restarted() override { journal.add("restarted " + name); }
  void stopping() override {
    journal.add("stopping " + name);
    if (name == "careless")
      throw std::runtime_error("on_stop() threw");
  }

  const std::string name;
  std::atomic<bool> running = false;
  std::vector<std::uint64_t> numbers;
};

std::string rest_of(Reader& reader) {
  auto rest = reader.raw(reader.rest().size());
  return {reinterpret_cast<const char*>(rest.data()), rest.size()};
}

std::unique_ptr<LivingObject> make_actor(Reader& arguments) {
  auto name = rest_of(arguments);
  if (name == "broken")
    throw std::invalid_argument("no " + name + " actors");
  return std::make_unique<Actor>(name);
}

/// Notes its argument and returns it.
void note(LivingObject& object, Reader& arguments, Writer& result) {
  auto text = rest_of(arguments);
  journal.add(static_cast<Actor&>(object).name + " " + text);
  result.raw(text.data(), text.size());
}

void throw_it(LivingObject&, Reader& arguments, Writer&) {
  throw std::out_of_range(rest_of(arguments));
}

/// Collects numbers; throws if another call on the object runs.
void count(LivingObject& object, Reader& arguments, Writer&) {
  auto& actor = static_cast<Actor&>(object);
  if (actor.running.exchange(true))
    throw std::logic_error("two calls on one object at the same time");
  actor.numbers.push_back(std::stoull(rest_of(arguments)));
  std::this_thread::yield();
  actor.running = false;
}

/// Raises the signal `a` and waits for `b`, where the argument is "a b".
void meet(LivingObject&, Reader& arguments, Writer&) {
  auto text = rest_of(arguments);
  auto space = text.find(' ');
  journal.raise(text.substr(0, space));
  if (!journal.await(text.substr(space + 1)))
    throw std::runtime_error("nobody came");
}

/// The same while it is marked as waiting.
void meet_in_pause(LivingObject& object, Reader& arguments, Writer& result) {
  ObjectHost::Pause pause;
  meet(object, arguments, result);
}

Payload packed(std::uint64_t number, ObjectOp op, std::string_view rest = {}) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(number);
  writer.put(op);
  writer.raw(rest.data(), rest.size());
  return Payload(std::move(bytes));
}

template <class F>
Payload packed(std::uint64_t number, ObjectOp op, F* function, std::string_view rest) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(number);
  writer.put(op);
  auto makes = op == ObjectOp::create || op == ObjectOp::remake;
  auto kind = makes ? detail::CodeKind::make_object : detail::CodeKind::call_object;
  detail::EntryPoint(detail::code_of(function), kind); // As entry() does it for users.
  detail::pack_code(writer, detail::code_of(function), kind);
  writer.raw(rest.data(), rest.size());
  return Payload(std::move(bytes));
}

/// The answer to a request: of this thread, or of a thread of the host.
using HostReply = std::future<ObjectAnswer>;

bool is_there(const HostReply& reply) {
  return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// Waits for the answer and returns the value, or what came instead.
std::string result(HostReply& reply) {
  if (reply.wait_for(deadline) != std::future_status::ready)
    return "no answer";
  auto answer = reply.get();
  Reader reader(answer.body.bytes());
  switch (answer.what) {
  case Answer::done:
    return "done";
  case Answer::value:
    return "value " + rest_of(reader);
  case Answer::failed: {
    auto failure = read_failure(reader);
    return failure.type + ": " + failure.what;
  }
  case Answer::closed:
    return "closed";
  case Answer::cancelled:
    return "cancelled";
  case Answer::unbegun:
    return "unbegun";
  default:
    return "answer " + std::to_string(static_cast<int>(answer.what));
  }
}
std::string result(HostReply&& reply) {
  return result(reply);
}

/// A host in the driver. Its calls run when step() is called, or on its own threads after
/// run_on_threads().
class ObjectHostTest : public ObjectSpaces {
protected:
  ObjectHostTest() {
    journal.clear();
    make_host(1);
  }
  ~ObjectHostTest() override {
    if (runner.joinable()) {
      host->close();
      runner.join();
    }
  }

  void make_host(std::size_t threads) {
    host = std::make_shared<ObjectHost>(threads, at(0).shared_from_this(), nullptr);
    root = at(0).add(host);
  }
  void run_on_threads(std::size_t threads) {
    make_host(threads);
    runner = std::thread([host = host] { host->run(); });
  }

  HostReply ask(Payload body, AskKind what = AskKind::call) {
    auto promise = std::make_shared<std::promise<ObjectAnswer>>();
    last_request = at(0).ask(root->held_id(), what, std::move(body), {},
                             [promise](std::uint64_t, ObjectAnswer answer) {
                               promise->set_value(std::move(answer));
                             });
    return promise->get_future();
  }
  HostReply create(std::uint64_t number, std::string_view name) {
    return ask(packed(number, ObjectOp::create, &make_actor, name));
  }
  HostReply call(std::uint64_t number, detail::CallObject f, std::string_view text) {
    return ask(packed(number, ObjectOp::call, f, text));
  }
  HostReply stop(bool at_once) {
    return ask(packed(0, ObjectOp::stop, std::string_view(at_once ? "\1" : "\0", 1)));
  }
  void run_all() {
    while (host->step())
      ;
  }

  std::shared_ptr<ObjectHost> host;
  std::shared_ptr<ObjectHandle> root;
  std::thread runner;
};

TEST_F(ObjectHostTest, an_object_is_created_called_and_destroyed) {
  auto created = create(1, "a");
  EXPECT_FALSE(is_there(created));
  EXPECT_TRUE(host->step());
  EXPECT_EQ(result(created), "done");
  auto called = call(1, &note, "x");
  auto repeated = ask(packed(1, ObjectOp::repeat, &note, "y"));
  auto destroyed = ask(packed(1, ObjectOp::destroy));
  run_all();
  EXPECT_EQ(result(called), "value x");
  EXPECT_EQ(result(repeated), "value y");
  EXPECT_EQ(result(destroyed), "done");
  EXPECT_EQ(journal.take(), "made a, a x, a y, destroyed a");
  EXPECT_FALSE(host->step());
}

TEST_F(ObjectHostTest, a_remade_object_is_told_so) {
  auto remade = ask(packed(1, ObjectOp::remake, &make_actor, "a"));
  run_all();
  EXPECT_EQ(result(remade), "done");
  EXPECT_EQ(journal.take(), "made a, restarted a");
}

TEST_F(ObjectHostTest, a_busy_object_does_not_starve_the_others) {
  create(1, "a");
  create(2, "b");
  run_all();
  journal.clear();
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    call(1, &note, std::to_string(i));
    expected += (i == 0 ? "a " : ", a ") + std::to_string(i);
    if (i == 15) // After 16 calls it is another object's turn.
      expected += ", b x";
  }
  call(2, &note, "x");
  run_all();
  EXPECT_EQ(journal.take(), expected);
}

TEST_F(ObjectHostTest, calls_on_one_object_run_one_at_a_time_and_in_order) {
  run_on_threads(4);
  constexpr std::uint64_t objects = 3, calls = 200;
  std::vector<HostReply> replies;
  for (std::uint64_t number = 1; number <= objects; ++number)
    replies.push_back(create(number, "a"));
  for (std::uint64_t i = 0; i < calls; ++i)
    for (std::uint64_t number = 1; number <= objects; ++number)
      replies.push_back(call(number, &count, std::to_string(i)));
  for (std::uint64_t number = 1; number <= objects; ++number)
    replies.push_back(call(
      number,
      [](LivingObject& object, Reader&, Writer& result) {
        auto& numbers = static_cast<Actor&>(object).numbers;
        for (std::uint64_t i = 0; i < numbers.size(); ++i)
          if (numbers[i] != i)
            throw std::logic_error("call " + std::to_string(i) + " is out of order");
        auto text = std::to_string(numbers.size());
        result.raw(text.data(), text.size());
      },
      ""));
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto last = i + objects >= replies.size();
    EXPECT_EQ(result(replies[i]), last          ? "value " + std::to_string(calls)
                                  : i < objects ? "done"
                                                : "value ");
  }
}

TEST_F(ObjectHostTest, calls_on_different_objects_run_at_the_same_time) {
  run_on_threads(2);
  EXPECT_EQ(result(create(1, "a")), "done");
  EXPECT_EQ(result(create(2, "b")), "done");
  auto first = call(1, &meet, "first second"), second = call(2, &meet, "second first");
  EXPECT_EQ(result(first), "value ");
  EXPECT_EQ(result(second), "value ");
}

TEST_F(ObjectHostTest, a_call_that_waits_lets_another_one_run) {
  run_on_threads(1);
  EXPECT_EQ(result(create(1, "a")), "done");
  EXPECT_EQ(result(create(2, "b")), "done");
  auto first = call(1, &meet_in_pause, "first second");
  ASSERT_TRUE(journal.await("first"));
  EXPECT_EQ(result(call(2, &meet, "second first")), "value ");
  EXPECT_EQ(result(first), "value ");
}

TEST_F(ObjectHostTest, a_call_that_throws_is_answered_and_the_object_lives_on) {
  create(1, "a");
  auto thrown = call(1, &throw_it, "too far"), next = call(1, &note, "x");
  run_all();
  EXPECT_EQ(result(thrown), "std::out_of_range: too far");
  EXPECT_EQ(result(next), "value x");
  EXPECT_EQ(journal.take(), "made a, a x");
}

TEST_F(ObjectHostTest, calls_on_an_object_that_could_not_be_made_fail) {
  auto created = create(1, "broken"), called = call(1, &note, "x");
  auto destroyed = ask(packed(1, ObjectOp::destroy));
  run_all();
  EXPECT_EQ(result(created), "std::invalid_argument: no broken actors");
  EXPECT_EQ(result(called),
            "fiber::Error: the object is not there: its constructor threw");
  EXPECT_EQ(result(destroyed), "done");
  EXPECT_EQ(journal.take(), "");
}

TEST_F(ObjectHostTest, a_stop_at_once_gives_back_calls_that_have_not_begun) {
  create(1, "a");
  run_all();
  auto body = packed(1, ObjectOp::call, &note, "x");
  auto queued = ask(body);
  EXPECT_FALSE(host->destroy_stopped());
  EXPECT_EQ(result(stop(true)), "done");
  auto answer = queued.get();
  EXPECT_EQ(answer.what, Answer::unbegun);
  EXPECT_TRUE(std::ranges::equal(answer.body.bytes(), body.bytes()));
  EXPECT_EQ(result(call(1, &note, "y")), "unbegun"); // Later ones too.
  EXPECT_EQ(result(create(2, "b")), "unbegun");
  run_all();
  EXPECT_EQ(journal.take(), "made a");
}

TEST_F(ObjectHostTest, a_stop_in_turn_lets_earlier_calls_run) {
  create(1, "a");
  auto first = call(1, &note, "x");
  auto stopped = stop(false);
  create(2, "b");
  EXPECT_FALSE(is_there(stopped));
  EXPECT_TRUE(host->step());
  EXPECT_TRUE(host->step());
  EXPECT_EQ(result(first), "value x");
  EXPECT_EQ(result(stopped), "done");
  run_all();
  EXPECT_EQ(journal.take(), "made a, a x");
}

TEST_F(ObjectHostTest, a_stop_calls_stopping_in_the_reverse_order_of_creation) {
  create(1, "a");
  create(2, "careless");
  create(3, "c");
  run_all();
  journal.clear();
  stop(true);
  EXPECT_TRUE(host->destroy_stopped());
  EXPECT_EQ(journal.take(), "stopping c, destroyed c, stopping careless, destroyed "
                            "careless, stopping a, destroyed a");
}

TEST_F(ObjectHostTest, the_end_of_the_session_destroys_without_stopping) {
  create(1, "a");
  run_all();
  auto queued = call(1, &note, "x");
  host->close();
  EXPECT_EQ(result(queued), "unbegun");
  EXPECT_TRUE(host->destroy_stopped());
  EXPECT_EQ(journal.take(), "made a, destroyed a");
}

TEST_F(ObjectHostTest, run_returns_after_the_running_call_has_ended) {
  run_on_threads(1);
  create(1, "a");
  auto running = call(1, &meet, "begun go"), queued = call(1, &note, "x");
  ASSERT_TRUE(journal.await("begun"));
  EXPECT_EQ(result(stop(true)), "done");
  EXPECT_EQ(result(queued), "unbegun");
  EXPECT_FALSE(is_there(running));
  EXPECT_EQ(journal.take(), "made a");
  journal.raise("go");
  runner.join();
  EXPECT_EQ(result(running), "value ");
  EXPECT_EQ(journal.take(), "stopping a, destroyed a");
}

TEST_F(ObjectHostTest, a_call_can_be_cancelled_until_it_begins) {
  create(1, "a");
  auto first = call(1, &note, "x");
  auto second = call(1, &note, "y");
  at(0).tell(root->held_id(), last_request, AskKind::cancel);
  EXPECT_EQ(result(second), "cancelled");
  run_all();
  EXPECT_EQ(result(first), "value x");
  EXPECT_EQ(journal.take(), "made a, a x");
}

TEST_F(ObjectHostTest, a_handle_in_an_answer_holds_until_the_caller_does) {
  static std::shared_ptr<const detail::Held> sent;
  sent = queue_at(0);
  auto id = sent->held_id();
  create(1, "a");
  auto called = call(
    1,
    [](LivingObject&, Reader&, Writer&) {
      detail::KeepScope::keep(std::exchange(sent, nullptr));
    },
    "");
  auto request = last_request;
  run_all();
  auto answer = called.get();
  EXPECT_EQ(answer.kept.size(), 1U);
  answer.kept.clear();
  EXPECT_TRUE(lives(id));
  at(0).tell(root->held_id(), request, AskKind::took);
  EXPECT_FALSE(lives(id));
}

TEST_F(ObjectHostTest, a_malformed_request_is_refused_and_the_host_lives_on) {
  create(1, "a");
  run_all();
  EXPECT_EQ(result(ask({})), "closed");
  EXPECT_EQ(result(ask(packed(1, ObjectOp::call), AskKind::size)), "closed");
  for (auto op : {ObjectOp::create, ObjectOp::remake, ObjectOp::call, ObjectOp::repeat,
                  ObjectOp::restore, ObjectOp::ready, ObjectOp{99}})
    for (std::string_view rest : {"", "x", "\377\377\377\377\377\377\377\377\377"}) {
      auto refused = ask(packed(1, op, rest));
      run_all();
      EXPECT_TRUE(result(refused).starts_with("fiber::Error: "))
        << static_cast<int>(op) << " " << rest.size();
    }
  auto cut = ask(packed(1, ObjectOp::call).slice(0, sizeof(std::uint64_t)));
  run_all();
  EXPECT_TRUE(result(cut).starts_with("fiber::Error: "));
  auto called = call(1, &note, "x");
  run_all();
  EXPECT_EQ(result(called), "value x");
}

TEST_F(ObjectHostTest, requests_that_came_before_run_use_all_threads) {
  make_host(2);
  create(1, "a");
  create(2, "b");
  auto first = call(1, &meet, "first second"), second = call(2, &meet, "second first");
  runner = std::thread([host = host] { host->run(); });
  EXPECT_EQ(result(first), "value ");
  EXPECT_EQ(result(second), "value ");
}

TEST_F(ObjectHostTest, a_stop_without_its_flag_is_refused) {
  auto refused = ask(packed(0, ObjectOp::stop));
  run_all();
  EXPECT_TRUE(result(refused).starts_with("fiber::Error: "));
}

} // namespace
} // namespace fiber::actors
