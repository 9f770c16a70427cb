// SPDX-License-Identifier: Apache-2.0
// The promise: a machine knows the address by which it reaches another one, and which
// addresses are its loopback.
#include "wire/own_address.hpp"

#include <gtest/gtest.h>

#include "wire/error.hpp"

namespace fiber::wire {
namespace {

TEST(OwnAddress, the_address_towards_loopback_is_loopback) {
  EXPECT_EQ(own_address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(own_address_towards("localhost").find_first_not_of("0123456789.:"),
            std::string::npos);
}

TEST(OwnAddress, an_unreachable_host_is_named) {
  EXPECT_THROW(own_address_towards("no.such.host.invalid"), WireError);
}

TEST(OwnAddress, loopback_addresses_are_recognized) {
  for (auto* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(host)) << host;
  EXPECT_TRUE(is_loopback(loopback_address()));
  for (auto* host : {"10.0.0.7", "128.0.0.1", "0.0.0.0", "::", "fd00::1"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

} // namespace
} // namespace fiber::wire
