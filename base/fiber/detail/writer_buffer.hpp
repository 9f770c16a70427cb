// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <streambuf>

#include "fiber/byte_stream.hpp"

namespace fiber::detail {

/// Lets an archive of Boost's write to a Writer.
class WriterBuffer : public std::streambuf {
public:
  explicit WriterBuffer(Writer& writer) : writer_(writer) {}

protected:
  std::streamsize xsputn(const char* data, std::streamsize n) override {
    writer_.raw(data, static_cast<std::size_t>(n));
    return n;
  }
  int_type overflow(int_type c) override {
    auto byte = traits_type::to_char_type(c);
    writer_.raw(&byte, 1);
    return c;
  }

private:
  Writer& writer_;
};

} // namespace fiber::detail
