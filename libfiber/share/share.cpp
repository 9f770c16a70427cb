// SPDX-License-Identifier: Apache-2.0
#include "fiber/share.hpp"

#include <system_error>

#include "actors/objects/this_job.hpp"
#include "actors/share/share_cache.hpp"
#include "actors/share/share_store.hpp"
#include "actors/share/shared_memory.hpp"
#include "libfiber/session/runtime.hpp"
#include "wire/digest.hpp"

namespace fiber::detail {
namespace {

/// Returns the session's tag, which distinguishes values with the same number.
std::uint64_t session_tag() {
  auto* job = actors::ThisJob::get();
  return job != nullptr ? job->session : Runtime::require()->session_tag();
}

actors::ShareStore& store() {
  if (actors::ShareCache::instance().connected())
    throw Error("fiber::share makes shared values in the driver; in a job return the "
                "value instead");
  return Runtime::require()->shares();
}

} // namespace

std::shared_ptr<SharedObject> share_value(Bytes packed,
                                          std::shared_ptr<const void> value) {
  return store().add(std::move(packed), std::move(value));
}

std::shared_ptr<SharedObject> share_array(std::span<const std::byte> bytes) {
  try {
    return store().add_array(bytes);
  } catch (const std::system_error& error) {
    throw BackendError("share", error.code().value(), error.what());
  }
}

void pack_shared(Writer& writer, const std::shared_ptr<SharedObject>& object) {
  if (writer.compares()) {
    writer.put(object->digest(wire::digest_of));
    return;
  }
  KeepScope::keep(object);
  writer.put(session_tag());
  writer.put(object->id());
  object->pack_place(writer);
}

std::shared_ptr<SharedObject> unpack_shared(Reader& reader) {
  if (reader.get<std::uint64_t>() != session_tag())
    throw Error("a shared value of another session can't be used in this one");
  auto id = reader.get<std::uint64_t>();
  if (auto& cache = actors::ShareCache::instance(); cache.connected())
    return cache.handle(id, reader);
  reader.get<actors::SharedMemory::Place>();
  auto object = Runtime::require()->shares().find(id);
  if (!object)
    throw Error("a shared value is used after its last handle was gone");
  return object;
}

} // namespace fiber::detail
