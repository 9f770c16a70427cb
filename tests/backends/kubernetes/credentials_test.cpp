// SPDX-License-Identifier: Apache-2.0
// The promise: requests use the current credentials: replaced tokens and certificates are
// reread.
#include "backends/kubernetes/credentials.hpp"

#include <filesystem>

#include "backends/kubernetes/exec_credential.hpp"
#include "backends/kubernetes/watched_file.hpp"
#include "tests/backends/kubernetes/asker.hpp"

namespace fiber::backends::kubernetes {

namespace {

using CredentialsTest = KubernetesFiles;
using Lines = std::vector<std::string>;

Access with_token_file(const std::string& file) {
  Access access;
  access.identity.token_file = file;
  return access;
}

TEST_F(CredentialsTest, empty_credentials_send_nothing) {
  Asker asker{Access()};
  auto pass = asker.get();
  EXPECT_TRUE(pass.headers.empty());
  EXPECT_EQ(pass.error, "");
  EXPECT_FALSE(asker.refused(pass.serial));
}

TEST_F(CredentialsTest, a_token_and_impersonation_become_headers) {
  Access access;
  access.identity.token = "sesame";
  access.identity.impersonation = {"Impersonate-User: jane"};
  Asker asker(access);
  EXPECT_EQ(asker.get().headers,
            (Lines{"Authorization: Bearer sesame", "Impersonate-User: jane"}));
  EXPECT_FALSE(asker.refused(asker.get().serial)); // There is no other token.
}

TEST_F(CredentialsTest, a_password_becomes_a_header) {
  Access access;
  access.identity.username = "jane";
  access.identity.password = "p:w";
  EXPECT_EQ(Asker(access).say(), "Authorization: Basic amFuZTpwOnc=");
}

TEST_F(CredentialsTest, a_token_file_that_is_replaced_is_read_again) {
  Asker asker(with_token_file(write("token", "one\n")));
  auto before = asker.get();
  EXPECT_EQ(before.headers, Lines{"Authorization: Bearer one"});
  EXPECT_EQ(asker.get().serial, before.serial);
  write("token", "two");
  auto after = asker.get();
  EXPECT_EQ(after.headers, Lines{"Authorization: Bearer two"});
  EXPECT_GT(after.serial, before.serial);
  EXPECT_EQ(after.endpoint, before.endpoint);
}

TEST_F(CredentialsTest, a_projected_token_rotates_by_its_link) {
  write("1/token", "one");
  write("2/token", "two");
  namespace fs = std::filesystem;
  fs::last_write_time(path("2/token"), fs::last_write_time(path("1/token")));
  fs::create_directory_symlink("1", path("data"));
  Asker asker(with_token_file(path("data/token")));
  EXPECT_EQ(asker.say(), "Authorization: Bearer one");
  fs::create_directory_symlink("2", path("new"));
  fs::rename(path("new"), path("data"));
  EXPECT_EQ(asker.say(), "Authorization: Bearer two");
}

TEST_F(CredentialsTest, a_rejected_token_is_retried_if_its_file_has_another) {
  Asker asker(with_token_file(write("token", "one")));
  auto serial = asker.get().serial;
  EXPECT_FALSE(asker.refused(serial));
  write("token", "two");
  EXPECT_TRUE(asker.refused(serial));
  EXPECT_TRUE(asker.refused(serial)); // From a concurrent request.
  EXPECT_EQ(asker.say(), "Authorization: Bearer two");
  EXPECT_FALSE(asker.refused(asker.get().serial));
}

TEST_F(CredentialsTest, the_last_token_holds_while_its_file_is_away) {
  Asker asker(with_token_file(write("token", "one")));
  std::filesystem::remove(path("token"));
  EXPECT_EQ(asker.say(), "Authorization: Bearer one");
  write("token", " \n");
  EXPECT_EQ(asker.say(), "Authorization: Bearer one");
  write("token", "two");
  EXPECT_EQ(asker.say(), "Authorization: Bearer two");
}

TEST_F(CredentialsTest, a_token_file_wins_over_a_token_once_it_is_there) {
  auto access = with_token_file(path("token"));
  Asker without(access);
  EXPECT_EQ(without.say(), path("token") + ": No such file or directory");
  access.identity.token = "fallback";
  Asker asker(access);
  EXPECT_EQ(asker.say(), "Authorization: Bearer fallback");
  write("token", "file");
  EXPECT_EQ(asker.say(), "Authorization: Bearer file");
  EXPECT_EQ(without.say(), "Authorization: Bearer file");
}

TEST_F(CredentialsTest, a_token_cannot_inject_a_header) {
  auto file = write("token", "sesame\r\nX-Other: 1");
  EXPECT_EQ(Asker(with_token_file(file)).say(),
            file + ": a control character is in the token");
}

TEST_F(CredentialsTest, certificates_that_are_replaced_make_another_endpoint) {
  Access access;
  access.files = {write("ca", "ca 1"), write("crt", "crt 1"), write("key", "key 1")};
  access.endpoint.url = "https://k";
  Asker asker(access);
  auto first = asker.get().endpoint;
  EXPECT_EQ(first->client_cert_pem, "crt 1");
  EXPECT_EQ(asker.get().endpoint, first);
  write("crt", "crt 2");
  write("key", "key 2");
  auto second = asker.get().endpoint;
  EXPECT_NE(second, first);
  EXPECT_EQ(second->url, "https://k");
  EXPECT_EQ(second->ca_pem, "ca 1");
  EXPECT_EQ(second->client_cert_pem, "crt 2");
  EXPECT_EQ(second->client_key_pem, "key 2");
  write("ca", "ca 2");
  EXPECT_EQ(asker.get().endpoint->ca_pem, "ca 2");
}

TEST(Timestamp, timestamps_are_parsed_by_rfc_3339) {
  using namespace std::chrono;
  sys_seconds noon = sys_days(2026y / 1 / 31) + 12h;
  for (const char* text : {"2026-01-31T12:00:00Z", "2026-01-31t12:00:00.123456789z",
                           "2026-01-31T14:30:00+02:30", "2026-01-31T04:00:00-08:00"})
    EXPECT_EQ(parse_timestamp(text), noon) << text;
  EXPECT_GT(parse_timestamp("9999-12-31T23:59:59Z"), noon);
  for (const char* text : {"", "2026-01-31", "2026-02-30T12:00:00Z", "1769860800",
                           "2026-01-31T12:00:00", "2026-01-31T12:00:00Z "})
    EXPECT_FALSE(parse_timestamp(text)) << text;
}

} // namespace

} // namespace fiber::backends::kubernetes
