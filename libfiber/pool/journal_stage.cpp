// SPDX-License-Identifier: Apache-2.0
#include "libfiber/pool/journal_stage.hpp"

#include <utility>

#include "wire/digest.hpp"

namespace fiber::detail {

JournalStage::JournalStage(std::shared_ptr<JournalledResults> journal)
  : journal_(std::move(journal)) {}

std::optional<Payload> JournalStage::find(std::size_t index, const Bytes& arguments) {
  current_ = wire::digest_of(arguments);
  return journal_->find(index, current_);
}

bool JournalStage::add(std::size_t index, Payload value) {
  if (found_.empty())
    limits_.begin();
  found_bytes_ += value.size();
  found_.push_back({index, {std::move(value), nullptr}});
  return BatchLimits::is_full(found_.size(), found_bytes_) || limits_.is_late();
}

void JournalStage::deliver() {
  if (found_.empty())
    return;
  tasks_ += found_.size();
  bytes_ += std::exchange(found_bytes_, 0);
  journal_->restore(std::exchange(found_, {}));
}

void JournalStage::submits(std::size_t first) {
  journal_->expect(first, std::exchange(to_submit_, {}));
}

} // namespace fiber::detail
