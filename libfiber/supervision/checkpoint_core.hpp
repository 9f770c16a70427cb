// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/checkpoint.hpp"
#include "libfiber/objects/object_core.hpp"
#include "libfiber/supervision/checkpoint_file.hpp"

namespace fiber::detail {

/// What is asked of a checkpoint.
enum class CheckpointOp : std::uint8_t {
  save, ///< whether it has handles, the name of its type, the value
  load  ///< the name of the type that it must have
};

/// What a checkpoint is where it lives. No actor: a value is copied nowhere on its way.
class CheckpointHome final : public actors::ObjectHome,
                             public std::enable_shared_from_this<CheckpointHome> {
public:
  /// `later` runs what waits for a disk, and says false if it can't any more. Without it
  /// that runs on the thread that asks.
  CheckpointHome(std::shared_ptr<actors::ObjectSpace> space,
                 std::optional<std::string> path,
                 std::function<bool(std::function<void()>)> later);

  void asked(actors::ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override {}

private:
  /// Answers; what it keeps no longer is to go when no lock is held.
  KeptObjects obey(const actors::ObjectAsk& ask);
  KeptObjects save(const actors::ObjectAsk& ask, Reader& reader);
  void load(const actors::Asker& who, const std::string& type);
  void run(const actors::ObjectAsk& ask);

  const std::shared_ptr<actors::ObjectSpace> space_;
  const std::function<bool(std::function<void()>)> later_;
  std::mutex mutex_;
  std::optional<CheckpointFile> file_;
  std::optional<CheckpointFile::Saved> saved_; ///< Of one without a file.
  KeptObjects kept_;                           ///< What handles in it stand for.
  actors::KeptAnswers answers_;
};

/// A checkpoint as the handles of this process share it.
class CheckpointCore final : public ObjectCore {
public:
  static std::shared_ptr<CheckpointCore> open(const ObjectPlace& place,
                                              const std::optional<std::string>& path);
  static std::shared_ptr<CheckpointCore> unpack(Reader& reader);
  void pack(Writer& writer) const;

  void save(PackedItem value);
  std::optional<CheckpointHandle::Saved> load(const std::type_info& type);

private:
  CheckpointCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held)
    : ObjectCore(place, std::move(held)) {}
  static std::shared_ptr<CheckpointCore>
  of(const ObjectPlace& place, const std::shared_ptr<actors::ObjectHandle>& held);
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;
  [[noreturn]] void fail_closed() const override;
};

} // namespace fiber::detail
