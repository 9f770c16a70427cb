// SPDX-License-Identifier: Apache-2.0
// The promise: an identity can be packed for a job, and nothing else is accepted as one.

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/certificates.hpp"
#include "wire/error.hpp"

namespace fiber::wire {
namespace {

TEST(Identity, an_identity_survives_packing) {
  const SessionCa ca;
  const auto packed = ca.issue(1).pack();
  EXPECT_EQ(Identity::unpack(packed).pack(), packed);
}

TEST(Identity, identities_of_two_jobs_differ) {
  const SessionCa ca;
  EXPECT_NE(ca.issue(1).pack(), ca.issue(1).pack());
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
