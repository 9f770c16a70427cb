// SPDX-License-Identifier: Apache-2.0
#include "wire/digest.hpp"

#include <algorithm>
#include <memory>

#include <openssl/evp.h>

#include "fiber/error.hpp"

namespace fiber::wire {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeAlgorithm {
  void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
};

} // namespace

fiber::detail::Digest digest_of(std::span<const std::byte> bytes) {
  // Fetched once: the lookup takes longer than a small digest.
  static const std::unique_ptr<EVP_MD, FreeAlgorithm> sha256(
    EVP_MD_fetch(nullptr, "SHA2-256", nullptr));
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> all{};
  if (!sha256 || !context ||
      EVP_DigestInit_ex2(context.get(), sha256.get(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), all.data(), nullptr) != 1)
    throw Error("OpenSSL can't make a SHA-256 digest");
  fiber::detail::Digest digest;
  std::transform(all.begin(), all.begin() + digest.size(), digest.begin(),
                 [](unsigned char c) { return std::byte{c}; });
  return digest;
}

} // namespace fiber::wire
