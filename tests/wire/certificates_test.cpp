// SPDX-License-Identifier: Apache-2.0
// The promise: an identity can be packed for a job, and nothing else is accepted as one.

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/certificates.hpp"
#include "wire/error.hpp"
#include "wire/openssl.hpp"

namespace fiber::wire {
namespace {

/// The private number of a key as it lies in memory, but masked, so that the search for
/// it does not find this.
using Masked = std::array<unsigned char, 32>;
constexpr unsigned char mask = 0x5a;

[[gnu::noinline]] Masked masked_key(EVP_PKEY* key) {
  BIGNUM* number = nullptr;
  Masked bytes{};
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number), 1);
  EXPECT_EQ(BN_bn2lebinpad(number, bytes.data(), static_cast<int>(bytes.size())),
            static_cast<int>(bytes.size()));
  BN_clear_free(number);
  for (auto& byte : bytes)
    byte ^= mask;
  return bytes;
}

/// Overwrites what calls have left on the stack.
[[gnu::noinline]] void wipe_stack() {
  std::array<char, 64 * 1024> room;
  OPENSSL_cleanse(room.data(), room.size());
}

struct Region {
  std::uintptr_t begin = 0, end = 0;
};

/// The writable memory of this process that a core dump has.
std::vector<Region> dumped_memory() {
  constexpr std::uintptr_t most = 1 << 30; // A sanitizer's own are larger.
  std::vector<Region> all;
  std::ifstream maps("/proc/self/smaps");
  Region region;
  std::string access;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    char dash = 0;
    if (Region next; words >> std::hex >> next.begin >> dash >> next.end >> access) {
      region = next;
    } else if (line.starts_with("VmFlags:")) {
      if (line.find(" dd") == line.npos && access.find('w') != access.npos &&
          region.end - region.begin < most)
        all.push_back(region);
    }
  }
  return all;
}

bool holds(const Region& region, const Masked& wanted) {
  std::vector<unsigned char> bytes(region.end - region.begin);
  const iovec to{bytes.data(), bytes.size()};
  const iovec from{reinterpret_cast<void*>(region.begin), bytes.size()};
  const auto n = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end(),
                     [](auto byte, auto other) { return byte == (other ^ mask); }) !=
         bytes.end();
}

TEST(Identity, an_identity_survives_packing) {
  const SessionCa ca;
  const auto packed = ca.issue(1).pack();
  EXPECT_EQ(Identity::unpack(packed).pack(), packed);
}

TEST(Identity, identities_of_two_jobs_differ) {
  const SessionCa ca;
  EXPECT_NE(ca.issue(1).pack(), ca.issue(1).pack());
}

TEST(Identity, a_key_is_in_no_core_dump) {
  const SessionCa ca;
  const auto identity = ca.issue(1);
  const auto key = masked_key(identity.impl().key.get());
  wipe_stack();
  const auto regions = dumped_memory();
  EXPECT_GT(regions.size(), 3u);
  for (const auto& region : regions)
    EXPECT_FALSE(holds(region, key)) << std::hex << region.begin;
  // The search finds what is there.
  std::vector<unsigned char> copy(key.begin(), key.end());
  for (auto& byte : copy)
    byte ^= mask;
  EXPECT_TRUE(std::ranges::any_of(
    dumped_memory(), [&](const Region& region) { return holds(region, key); }));
  OPENSSL_cleanse(copy.data(), copy.size());
}

TEST(Identity, other_bytes_are_no_identity) {
  const auto packed = SessionCa().issue(1).pack();
  EXPECT_THROW(Identity::unpack({}), TlsError);
  EXPECT_THROW(Identity::unpack(bytes_of("fiber-identity-1")), TlsError);
  for (std::size_t size = 0; size < packed.size(); size += 7)
    EXPECT_THROW(Identity::unpack(Bytes(packed.begin(), packed.begin() + size)),
                 TlsError);
  auto longer = packed;
  longer.push_back({});
  EXPECT_THROW(Identity::unpack(longer), TlsError);
}

} // namespace
} // namespace fiber::wire
