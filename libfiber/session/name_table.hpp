// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/callable.hpp"

namespace fiber::detail {

/// The named children of a session. Its jobs ask it as the first object of the driver.
///
/// Thread safety: any thread may call any member function.
class NameTable final : public actors::ObjectHome {
public:
  static constexpr HeldId id{0, 1};

  explicit NameTable(std::shared_ptr<actors::ObjectSpace> space)
    : space_(std::move(space)) {}

  struct Entry {
    std::string type; ///< As typeid names it.
    std::shared_ptr<actors::ObjectHandle> object;
  };
  /// False if the name is taken. It is then, without an object, until set().
  bool reserve(const std::string& name);
  /// False if it was not reserved.
  bool set(const std::string& name, Entry entry);
  void remove(const std::string& name);
  std::optional<Entry> find(const std::string& name) const;

  void asked(actors::ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override;

private:
  const std::shared_ptr<actors::ObjectSpace> space_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  actors::KeptAnswers answers_;
};

} // namespace fiber::detail
