// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fiber {

class Reader;
class Writer;

namespace detail {

/// What a function is called as that another process has named by its place.
enum class CodeKind : std::uint8_t {
  function,    ///< A plain function of the user's.
  open,        ///< An entry point: an Open.
  make_object, ///< An entry point: a MakeObject.
  call_object  ///< An entry point: a CallObject.
};

/// Writes the build id and offset of the function at `code`. Throws Error if it is in no
/// loaded object that has a build id, and if unpack_code() would not accept it.
void pack_code(Writer& writer, const void* code, CodeKind kind);
/// The function of that build id and offset in this process. Throws Error if its object
/// is not loaded here, which names the object's path, and if the place is none of such a
/// function: for `function` one must begin there, for the others entry() must have noted
/// it as an entry point of this kind.
const void* unpack_code(Reader& reader, CodeKind kind);
/// The same as a pointer of the type that belongs to `kind`.
template <class F>
F unpack_function(Reader& reader, CodeKind kind) {
  return reinterpret_cast<F>(const_cast<void*>(unpack_code(reader, kind)));
}

/// Returns a function's address in the form that pack_code() takes.
template <class F>
const void* code_of(F* function) {
  return reinterpret_cast<const void*>(function);
}

/// Notes a function as an entry point of its kind.
struct EntryPoint {
  EntryPoint(const void* code, CodeKind kind);
};

/// The note of one function. What entry() refers to is initialised before main(), or
/// while its library is loaded: so who may name `f` to others accepts it from them.
template <CodeKind kind, auto f>
struct Entry {
  // Hidden, as a library and the program may have a copy of `f` each.
  [[gnu::visibility("hidden")]] static inline const EntryPoint noted{code_of(f), kind};
};

/// Returns `f`, an entry point of that kind in every process of this build.
template <CodeKind kind, auto f>
auto entry() {
  static_cast<void>(&Entry<kind, f>::noted);
  return f;
}

template <CodeKind kind, auto f>
void pack_entry(Writer& writer) {
  pack_code(writer, code_of(entry<kind, f>()), kind);
}

} // namespace detail
} // namespace fiber
