// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "fiber/ref.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// An object in a manager's job, as the handles of this process share it.
class RefCore final : public ObjectCore {
public:
  static std::shared_ptr<RefCore> of(const ObjectPlace& place,
                                     const std::shared_ptr<actors::ObjectHandle>& held);
  static std::shared_ptr<RefCore> unpack(Reader& reader);
  void pack(Writer& writer) const;

  RawOutcome call(PackedItem item);
  std::shared_ptr<Results> async(PackedItem item);
  void send(PackedItem item);

private:
  RefCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held)
    : ObjectCore(place, std::move(held)) {}
  [[noreturn]] void fail_closed() const override;
};

/// What came of a call, as a task's outcome; tells the object that it is here.
RawOutcome outcome_of_call(actors::ObjectSpace& objects, const HeldId& object,
                           std::uint64_t request, actors::ObjectAnswer answer);

} // namespace fiber::detail
