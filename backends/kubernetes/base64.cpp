// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace fiber::backends::kubernetes {

namespace {

const unsigned char* unsigned_data(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* unsigned_data(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

} // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed), [](char c) {
    return std::string_view(" \t\r\n").find(c) == std::string_view::npos;
  });
  if (packed.size() % 4 != 0)
    return std::nullopt;
  auto last = packed.find_last_not_of('=');
  std::size_t padding = last == packed.npos ? packed.size() : packed.size() - last - 1;
  // OpenSSL would accept '=' anywhere as zeros, and '-' as the end.
  if (padding > 2 || packed.find_first_of("=-") < packed.size() - padding)
    return std::nullopt;
  std::string bytes(packed.size() / 4 * 3, '\0');
  int size =
    ::EVP_DecodeBlock(unsigned_data(bytes), unsigned_data(std::string_view(packed)),
                      static_cast<int>(packed.size()));
  if (size < 0 || static_cast<std::size_t>(size) != bytes.size())
    return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0'); // Plus OpenSSL's final zero.
  int size = ::EVP_EncodeBlock(unsigned_data(text), unsigned_data(bytes),
                               static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

} // namespace fiber::backends::kubernetes
