// SPDX-License-Identifier: Apache-2.0
#include "cli/job_log.hpp"

#include <algorithm>

namespace fiber::cli {
namespace {

constexpr std::size_t remembered = 1024; ///< Bytes that tell where reading goes on.

} // namespace

std::string JobLog::read(Session& session) {
  nlohmann::json request{
    {"op", "logs"}, {"job", job_}, {"after", after_}, {"have", have_}};
  auto reply = ask(session, request, log_limit);
  auto job = reply.value("job", "");
  if (job != latest_ && !after_.empty()) // A new job took over the node.
    reply = ask(session, {{"op", "logs"}, {"job", job}}, log_limit);
  if (job != latest_)
    after_.clear();
  latest_ = job;
  ended_ = reply.value("ended", false);
  have_ = reply.value("size", std::size_t{0});
  auto text = reply.value("text", "");
  after_ += text;
  auto cut = after_.size() - std::min(after_.size(), remembered);
  while (cut < after_.size() && (static_cast<unsigned char>(after_[cut]) & 0xc0) == 0x80)
    ++cut; // Not within a character.
  after_.erase(0, cut);
  return text;
}

} // namespace fiber::cli
