// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/program_start.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace fiber::backends::ssh {

namespace {

constexpr std::chrono::seconds answer_limit(30); // For each line.
constexpr int ssh_failed = 255;                  // Its exit code if it could not connect.

} // namespace

ProgramStart::ProgramStart(Loop& loop, const SshCommand& command, std::string host,
                           const ProgramFile& program, std::string number,
                           Handler handler)
  : loop_(loop), command_(command), host_(std::move(host)), program_(program),
    number_(std::move(number)), handler_(std::move(handler)) {
  expect_answer();
}

ProgramStart::~ProgramStart() {
  stop_clock();
}

void ProgramStart::stop_clock() {
  if (clock_)
    loop_.cancel(*clock_);
  clock_.reset();
}

void ProgramStart::expect_answer() {
  stop_clock();
  clock_ = loop_.after(answer_limit, [this] {
    clock_.reset();
    fail("no answer within " + std::to_string(answer_limit.count()) +
         " s (does a start file of the shell there wait for something?)");
  });
}

void ProgramStart::fail(const std::string& problem) {
  const auto failed = handler_.failed; // It may destroy this.
  failed(problem);
}

void ProgramStart::take(const std::string& line) {
  const auto ours = lines_for(line, number_);
  if (ours.empty())
    return;
  stage_ = std::max(stage_, Stage::shell);
  expect_answer();
  const auto space = ours.front().find(' ');
  const auto word = ours.front().substr(0, space);
  const auto rest = space == line.npos ? "" : ours.front().substr(space + 1);
  if (word == "host" && rest != machine())
    return fail("it is a machine of kind " + rest + ", and this program is for " +
                machine());
  if (word == "starts") {
    stage_ = Stage::ready;
    handler_.ready(rest);
  }
  if (word == "needs") {
    if (stage_ >= Stage::asked)
      return fail("the copy of the program is not where it was put");
    stage_ = Stage::asked;
    handler_.say("same " + program_.sha256() + "\n");
  }
  if (word == "differs")
    copy_program();
}

void ProgramStart::copy_program() {
  log().info("ssh: copying {} to {}:{}/{}", program_.remote().path, host_,
             program_.remote().directory, program_.remote().build);
  stop_clock(); // The copy has its own.
  copy_ = std::make_shared<ProgramCopy>(
    loop_, command_, host_, program_, number_, [this](const ProgramCopy::Result& result) {
      if (!result.problem.empty())
        return fail(result.problem);
      if (result.libraries > 0)
        log().info("ssh: {} lacked {} libraries of the program; copied them", host_,
                   result.libraries);
      handler_.say("go\n");
      expect_answer();
    });
  copy_->start();
}

std::string ProgramStart::problem_of_end(const std::string& errors,
                                         std::optional<int> exit_code) const {
  auto problem = command_.problem(host_, errors, exit_code);
  if (stage_ == Stage::ready && exit_code && (*exit_code == 126 || *exit_code == 127))
    return "its copy of the program can't start any more; remove " +
           program_.remote().directory + "/" + program_.remote().build +
           " there: " + problem;
  if (stage_ == Stage::silent && exit_code && *exit_code >= 0 && *exit_code != ssh_failed)
    return "the login shell there does not run commands, or a start file such as .bashrc "
           "ends it: " +
           problem;
  return problem;
}

} // namespace fiber::backends::ssh
