// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/callable.hpp"

namespace fiber::detail {

/// The named supervised objects of a session. Jobs reach the table as the driver's first
/// object, and publish() in a job sends its values there.
///
/// Thread safety: any thread may call any member function.
class NameTable final : public actors::ObjectHome {
public:
  static constexpr HeldId id{0, 1};

  explicit NameTable(std::shared_ptr<actors::ObjectSpace> space)
    : space_(std::move(space)) {}

  struct Entry {
    std::string type; ///< type_identity<T>().
    std::shared_ptr<actors::ObjectHandle> object;
  };
  /// Reserves a name, which find() does not see until set(). Returns false if it is
  /// taken.
  bool reserve(const std::string& name);
  /// Returns false if the name was not reserved.
  bool set(const std::string& name, Entry entry);
  void remove(const std::string& name);
  std::optional<Entry> find(const std::string& name) const;
  /// Makes `f` take what jobs publish from now on.
  using OnPublished = std::function<void(const std::string& series, double value)>;
  void on_published(OnPublished f);

  void asked(actors::ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override;

private:
  void published(const actors::ObjectAsk& ask);

  const std::shared_ptr<actors::ObjectSpace> space_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  actors::KeptAnswers answers_;
  OnPublished published_;
};

} // namespace fiber::detail
