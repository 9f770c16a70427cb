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

/// Requests to a checkpoint. The comments give the request's body.
enum class CheckpointOp : std::uint8_t {
  save, ///< Whether the value has handles, its type's name, the value.
  load  ///< The name of the expected type.
};

/// The home of a checkpoint. It is no actor, so that a value is never copied.
class CheckpointHome final : public actors::ObjectHome,
                             public std::enable_shared_from_this<CheckpointHome> {
public:
  /// `later` runs disk work on another thread and returns false if that has ended. If
  /// empty, disk work runs on the requesting thread.
  CheckpointHome(std::shared_ptr<actors::ObjectSpace> space,
                 std::optional<std::string> path,
                 std::function<bool(std::function<void()>)> later);

  void asked(actors::ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override {}

private:
  /// Handles a request. Returns the objects that are no longer kept, to be destroyed when
  /// no lock is held.
  KeptObjects handle(const actors::ObjectAsk& ask);
  KeptObjects save(const actors::ObjectAsk& ask, Reader& reader);
  void load(const actors::Asker& who, const std::string& type);
  void run(const actors::ObjectAsk& ask);

  const std::shared_ptr<actors::ObjectSpace> space_;
  const std::function<bool(std::function<void()>)> run_later_;
  std::mutex mutex_;
  std::optional<CheckpointFile> file_;
  std::optional<CheckpointFile::Saved> saved_; ///< Used without a file.
  KeptObjects kept_;                           ///< Objects that its handles refer to.
  actors::KeptAnswers answers_;
};

/// The shared state of a checkpoint's handles in this process.
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
