// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "fiber/ref.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// The shared state of the Refs to one object in this process.
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
  class Call;

  RefCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held)
    : ObjectCore(place, std::move(held)) {}
  [[noreturn]] void fail_closed() const override;
};

/// Converts the answer to a call into an outcome. Acknowledges handles in it, which the
/// home keeps alive until then.
RawOutcome outcome_of_call(actors::ObjectSpace& objects, const HeldId& object,
                           std::uint64_t request, actors::ObjectAnswer answer);

} // namespace fiber::detail
