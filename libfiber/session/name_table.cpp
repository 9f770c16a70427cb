// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/name_table.hpp"

#include <utility>
#include <vector>

namespace fiber::detail {

bool NameTable::reserve(const std::string& name) {
  std::lock_guard lock(mutex_);
  return entries_.try_emplace(name).second;
}

bool NameTable::set(const std::string& name, Entry entry) {
  std::lock_guard lock(mutex_);
  auto known = entries_.find(name);
  if (known == entries_.end())
    return false;
  std::swap(known->second, entry);
  return true;
}

void NameTable::remove(const std::string& name) {
  Entry last; // Destroyed after the lock is released: a handle's end sends a message.
  std::lock_guard lock(mutex_);
  if (auto known = entries_.find(name); known != entries_.end()) {
    last = std::move(known->second);
    entries_.erase(known);
  }
}

std::optional<NameTable::Entry> NameTable::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  auto known = entries_.find(name);
  if (known == entries_.end() || !known->second.object)
    return std::nullopt;
  return known->second;
}

void NameTable::on_published(OnPublished f) {
  std::lock_guard lock(mutex_);
  published_ = std::move(f);
}

void NameTable::published(const actors::ObjectAsk& ask) {
  OnPublished then;
  {
    std::lock_guard lock(mutex_);
    then = published_;
  }
  try {
    Reader reader(ask.body.bytes());
    auto series = reader.text();
    auto value = reader.get<double>();
    if (then)
      then(series, value);
    space_->answer(ask.who, {.what = actors::Answer::done});
  } catch (const std::exception& error) { // The job misbehaves.
    space_->refuse(ask.who, error.what());
  }
}

void NameTable::asked(actors::ObjectAsk ask) {
  using actors::Answer;
  if (ask.what == actors::AskKind::took) {
    KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what == actors::AskKind::put)
    return published(ask);
  if (ask.what != actors::AskKind::call)
    return; // A cancellation: the call is answered in any case.
  std::optional<Entry> found;
  try {
    found = find(Reader(ask.body.bytes()).text());
  } catch (const std::exception& error) {
    return space_->refuse(ask.who, error.what());
  }
  if (!found)
    return space_->answer(ask.who, {.what = Answer::done});
  Bytes body;
  Writer(body).text(found->type);
  KeptObjects kept{found->object};
  {
    std::lock_guard lock(mutex_);
    answers_.keep(ask.who, kept);
  }
  space_->answer(
    ask.who,
    {.what = Answer::value, .body = Payload(std::move(body)), .kept = std::move(kept)});
}

void NameTable::gone(std::uint64_t process) {
  std::vector<KeptObjects> last;
  std::lock_guard lock(mutex_);
  last = answers_.gone(process);
}

void NameTable::close() {
  std::map<std::string, Entry> last;
  std::lock_guard lock(mutex_);
  last.swap(entries_);
}

} // namespace fiber::detail
