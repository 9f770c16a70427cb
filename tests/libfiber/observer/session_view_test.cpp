// SPDX-License-Identifier: Apache-2.0
// Promise: a snapshot has all there is to see, and what does not answer delays it for a
// limited time only.
#include "libfiber/observer/session_view.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace fiber::observer {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class Shown final : public Part {
public:
  Shown(std::string name, bool answers, const char* list = "queues")
    : name_(std::move(name)), answers_(answers), list_(list) {}
  const char* list() const override { return list_; }
  bool gone() const override { return gone_; }
  Answer look() override {
    return [this](Clock::time_point limit) -> std::optional<json> {
      if (answers_)
        return with(json{{"name", name_}});
      actors::Signal never;
      never.wait_until(limit);
      return std::nullopt;
    };
  }
  bool gone_ = false;

private:
  /// Adds what the view needs of a pool.
  json with(json entry) const {
    if (list_ == std::string("pools"))
      entry.update({{"workers_up", 2},
                    {"workers_wanted", 3},
                    {"tasks_per_second", 10},
                    {"jobs", {{{"incarnation", 2}, {"tasks", 7}}}}});
    return entry;
  }

  std::string name_;
  bool answers_;
  const char* list_;
};

class View : public testing::Test {
protected:
  std::shared_ptr<actors::Roster> roster = std::make_shared<actors::Roster>();
  std::vector<std::string> ended;
  std::optional<std::string> output;
  SessionView view{{.name = "train",
                    .backend = "local",
                    .id = "4f2a13c0",
                    .roster = roster,
                    .read_output =
                      [this](const std::string&) {
                        auto reply = std::make_shared<SessionView::OutputReply>();
                        reply->set(output);
                        return reply;
                      },
                    .end_job =
                      [this](const std::string& id) {
                        ended.push_back(id);
                        roster->lost(1, "killed", -9, true);
                      }}};
};

TEST_F(View, has_the_arguments_with_which_the_program_was_started) {
  auto& first = *::program_invocation_name; // The first byte of argv[0].
  const auto before = first;
  first = 'X';
  const auto arguments = view.snapshot(1s).at("session").at("arguments");
  first = before;
  EXPECT_EQ(arguments.at(0), ::program_invocation_name);
}

TEST_F(View, a_snapshot_has_the_id_by_which_the_engine_knows_the_session) {
  EXPECT_EQ(view.snapshot(1s)["session"]["id"], "4f2a13c0");
}

TEST_F(View, parts_are_shown_until_they_have_gone) {
  auto first = std::make_shared<Shown>("a", true);
  view.add(first);
  view.add(std::make_shared<Shown>("b", true));
  EXPECT_EQ(view.snapshot(1s)["queues"], json::array({{{"name", "a"}}, {{"name", "b"}}}));
  first->gone_ = true;
  EXPECT_EQ(view.snapshot(1s)["queues"], json::array({{{"name", "b"}}}));
  EXPECT_EQ(first.use_count(), 1);
}

TEST_F(View, jobs_have_their_tasks_which_pictures_do_not_repeat_at_their_pool) {
  for (std::uint64_t incarnation : {1, 2}) {
    actors::JobEntry job;
    job.node = job.job = "pool1.w" + std::to_string(incarnation);
    roster->expect(incarnation, job);
  }
  view.add(std::make_shared<Shown>("pool1", true, "pools"));
  for (auto& all : {view.snapshot(1s), view.picture(1s, 0)}) {
    EXPECT_FALSE(all.at("jobs").at(0).contains("tasks"));
    EXPECT_EQ(all.at("jobs").at(1).at("tasks"), 7);
  }
  EXPECT_EQ(view.snapshot(1s).at("pools").at(0).at("jobs").size(), 1u);
  EXPECT_FALSE(view.picture(1s, 0).at("pools").at(0).contains("jobs"));
}

TEST_F(View, a_job_that_waits_has_the_engines_words) {
  roster->expect(1, {.node = "w0", .job = "w0-1", .kind = "pool"});
  EXPECT_FALSE(view.snapshot(1s)["jobs"][0].contains("waits_for"));
  roster->waits(1, "Unschedulable: 0/2 nodes");
  EXPECT_EQ(view.snapshot(1s)["jobs"][0]["waits_for"], "Unschedulable: 0/2 nodes");
  EXPECT_GE(view.snapshot(1s)["jobs"][0]["waits_seconds"], 0);
  roster->up(1, 100, {});
  EXPECT_FALSE(view.picture(1s, 0)["jobs"][0].contains("waits_for"));
}

TEST_F(View, parts_that_do_not_answer_are_counted) {
  view.add(std::make_shared<Shown>("busy", false));
  view.add(std::make_shared<Shown>("busy too", false));
  view.add(std::make_shared<Shown>("b", true));
  auto snapshot = view.snapshot(50ms);
  EXPECT_EQ(snapshot["silent_parts"], 2);
  EXPECT_EQ(snapshot["queues"].size(), 1U);
}

TEST_F(View, parts_that_have_gone_are_dropped_though_nobody_looks) {
  std::vector<std::weak_ptr<Shown>> all;
  for (int i = 0; i < 1000; ++i) {
    auto part = std::make_shared<Shown>("x", true);
    part->gone_ = true;
    all.push_back(part);
    view.add(part);
  }
  auto kept = std::ranges::count_if(all, [](auto& part) { return !part.expired(); });
  EXPECT_LT(kept, 200);
}

TEST_F(View, a_picture_has_what_has_ended_as_it_was_seen_last) {
  std::vector<std::shared_ptr<Shown>> parts;
  for (auto* list : {"pools", "rings", "managers"})
    view.add(parts.emplace_back(std::make_shared<Shown>("a", true, list)));
  EXPECT_FALSE(view.picture(1s, 0)["rings"][0].contains("ended"));
  for (auto& part : parts)
    part->gone_ = true;
  auto picture = view.picture(1s, 0);
  for (auto* list : {"pools", "rings", "managers"}) {
    ASSERT_EQ(picture[list].size(), 1U) << list;
    EXPECT_EQ(picture[list][0]["ended"], true) << list;
  }
  EXPECT_EQ(picture["managers"][0]["state"], "ended");
  EXPECT_EQ(picture["pools"][0]["workers_up"], 0);
}

TEST_F(View, what_has_ended_is_kept_up_to_a_limit) {
  constexpr std::size_t more = 3;
  for (std::size_t i = 0; i < PastParts::most + more; ++i) {
    auto ring = std::make_shared<Shown>("ring " + std::to_string(i), true, "rings");
    view.add(ring);
    view.picture(1s, 0);
    ring->gone_ = true;
  }
  auto picture = view.picture(1s, 0);
  EXPECT_EQ(picture["rings"].size(), PastParts::most);
  EXPECT_EQ(picture["rings_forgotten"], more);
}

TEST_F(View, each_look_is_a_point_in_the_charts_of_a_pool) {
  view.add(std::make_shared<Shown>("pool1", true, "pools"));
  view.snapshot(1s); // As `fiber top` does.
  auto history = view.picture(1s, 0)["pools"][0]["history"];
  ASSERT_EQ(history.size(), 3U);
  for (auto& number : history)
    EXPECT_EQ(number["points"].size(), 2U) << number;
  for (int i = 0; i < 1000; ++i)
    view.snapshot(1s);
  history = view.picture(1s, 0)["pools"][0]["history"];
  for (auto& number : history)
    EXPECT_LT(number["points"].size(), 200U);
}

TEST_F(View, the_members_of_a_ring_that_are_up_are_counted) {
  view.add(std::make_shared<Shown>("Ring-3", true, "rings"));
  roster->expect(1, {.node = "Ring-3.0", .job = "Ring-3.0-1", .kind = "ring"});
  roster->expect(2, {.node = "Ring-3.1", .job = "Ring-3.1-2", .kind = "ring"});
  roster->expect(3, {.node = "Ring-31.0", .job = "Ring-31.0-3", .kind = "ring"});
  roster->up(1, 100, {});
  roster->up(3, 101, {});
  EXPECT_EQ(view.snapshot(1s)["rings"][0]["members_up"], 1);
}

TEST_F(View, logs_are_those_of_the_latest_job_of_a_node) {
  roster->expect(1, {.node = "w0", .job = "w0-1", .kind = "pool"});
  roster->keep_output("w0-1", "first\n");
  roster->lost(1, "killed", -9, false);
  roster->expect(2, {.node = "w0", .job = "w0-2", .kind = "pool"});
  roster->created(2, "id2");
  output = "one\ntwo\n";
  auto now = view.answer({{"op", "logs"}, {"job", "w0"}});
  EXPECT_EQ(now["job"], "w0-2");
  EXPECT_EQ(now["text"], "one\ntwo\n");
  EXPECT_EQ(now["ended"], false);
  auto before = view.answer({{"op", "logs"}, {"job", "w0-1"}});
  EXPECT_EQ(before["text"], "first\n");
  EXPECT_EQ(before["ended"], true);
  EXPECT_TRUE(view.answer({{"op", "logs"}, {"job", "w9"}}).contains("error"));
  auto all = view.answer({{"op", "logs"}});
  EXPECT_EQ(all["jobs"], json::array({"w0-2"}));
  EXPECT_EQ(all["ended"], json::array({"w0-1"}));
}

TEST_F(View, logs_go_on_where_the_asker_is) {
  roster->expect(1, {.node = "w0", .job = "w0-1", .kind = "pool"});
  roster->created(1, "id1");
  auto after = [&](const std::string& text, std::size_t have) {
    return view.answer({{"op", "logs"}, {"job", "w0"}, {"after", text}, {"have", have}})
      .at("text");
  };
  output = "x\nx\nx\n";
  EXPECT_EQ(after("x\n", 2), "x\nx\n"); // The same line again is news.
  EXPECT_EQ(after("x\n", 6), "");
  output = "two\nthree\n"; // The engine has dropped the beginning.
  EXPECT_EQ(after("one\ntwo\n", 8), "two\nthree\n");
  EXPECT_EQ(after("two\n", 8), "three\n");
  output = "a\xff\xc3"; // The second byte of the last character has not come yet.
  EXPECT_EQ(after("", 0), "a\xef\xbf\xbd");
}

TEST_F(View, kill_ends_the_jobs) {
  roster->expect(1, {.node = "w0", .job = "w0-1", .kind = "pool"});
  roster->created(1, "id1");
  EXPECT_EQ(view.answer({{"op", "kill"}}), (json{{"jobs", 1}, {"left", 0}}));
  EXPECT_EQ(ended, std::vector<std::string>{"id1"});
}

TEST_F(View, other_requests_are_refused) {
  EXPECT_EQ(view.answer({{"op", "dance"}})["error"], "there is no request \"dance\"");
  EXPECT_TRUE(view.answer({{"op", 7}}).contains("error"));
  EXPECT_TRUE(view.answer(json::object()).contains("error"));
}

} // namespace
} // namespace fiber::observer
