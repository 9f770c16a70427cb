// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/credentials.hpp"

#include <optional>
#include <utility>

#include "backends/engine/child_process.hpp"
#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/exec_credential.hpp"
#include "backends/kubernetes/header.hpp"
#include "backends/kubernetes/watched_file.hpp"
#include "backends/output/stderr_writer.hpp"

namespace fiber::backends::kubernetes {

namespace {

/// A token must stay valid for at least this long, so that it lasts for its request.
constexpr std::chrono::seconds margin{10};

/// Returns an error message. The plugin's output, maybe long, comes last.
std::string message(const ExecPlugin& plugin, const std::string& problem,
                    const ChildResult& result) {
  auto text = plugin.place + ": exec plugin " + plugin.command + ": " + problem;
  if (result.start_error == ENOENT && !plugin.install_hint.empty())
    text += "; " + plugin.install_hint;
  auto end = result.errors.find_last_not_of(" \t\r\n");
  return end == std::string::npos ? text : text + ": " + result.errors.substr(0, end + 1);
}

} // namespace

class Credentials::Impl : public std::enable_shared_from_this<Impl> {
public:
  Impl(Loop& loop, Access access, std::chrono::milliseconds limit)
    : loop_(loop), access_(std::move(access)), limit_(limit),
      token_(access_.identity.token_file), ca_(access_.files.ca),
      cert_(access_.files.client_cert), key_(access_.files.client_key) {
    build_endpoint();
    build();
  }

  void get(Done done);
  bool refused(std::uint64_t serial);

private:
  bool read_files(bool force);
  void build_endpoint();
  void build();
  std::string authorization(std::string& error) const;
  bool has_answer() const;
  void ask_plugin();
  void on_answer(const ChildResult& result);
  void on_credential(ExecCredential credential);

  Loop& loop_;
  Access access_;
  std::chrono::milliseconds limit_;
  WatchedFile token_, ca_, cert_, key_;
  std::optional<ExecCredential> answer_; // The plugin's last answer.
  bool refused_ = false;                 // The server rejected it.
  std::shared_ptr<ChildProcess> plugin_; // Set while the plugin runs.
  std::vector<Done> waiting_;            // Calls waiting for the plugin.
  StderrWriter stderr_;
  Pass pass_;
};

/// Rereads changed files. Returns whether the content of any changed.
bool Credentials::Impl::read_files(bool force) {
  bool token = token_.refresh(force);
  bool endpoint = ca_.refresh(force);
  endpoint |= cert_.refresh(force);
  endpoint |= key_.refresh(force);
  if (endpoint)
    build_endpoint();
  return token || endpoint;
}

void Credentials::Impl::build_endpoint() {
  auto endpoint = access_.endpoint;
  if (!ca_.text().empty())
    endpoint.ca_pem = ca_.text();
  if (!cert_.text().empty())
    endpoint.client_cert_pem = cert_.text();
  if (!key_.text().empty())
    endpoint.client_key_pem = key_.text();
  if (answer_ && endpoint.client_cert_pem.empty()) { // Configured ones take precedence.
    endpoint.client_cert_pem = answer_->client_cert_pem;
    endpoint.client_key_pem = answer_->client_key_pem;
  }
  pass_.endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
}

std::string Credentials::Impl::authorization(std::string& error) const {
  const auto& identity = access_.identity;
  if (!identity.username.empty() || !identity.password.empty())
    return "Basic " + encode_base64(identity.username + ":" + identity.password);
  auto token = identity.token;
  if (auto read = token_.trimmed(); !read.empty())
    token = read;
  else if (token.empty() && !token_.path().empty())
    error = token_.path() + ": " + token_.error();
  if (!fits_header(token))
    error = token_.path() + ": a control character is in the token";
  if (token.empty() && answer_)
    token = answer_->token;
  return token.empty() ? "" : "Bearer " + token;
}

void Credentials::Impl::build() {
  ++pass_.serial;
  pass_.error.clear();
  pass_.headers.clear();
  auto value = authorization(pass_.error);
  if (!pass_.error.empty())
    return;
  if (!value.empty())
    pass_.headers.push_back("Authorization: " + value);
  const auto& more = access_.identity.impersonation;
  pass_.headers.insert(pass_.headers.end(), more.begin(), more.end());
}

bool Credentials::Impl::has_answer() const {
  // In seconds: in nanoseconds the clock overflows in 2262, before some tokens expire.
  auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return answer_ && !refused_ && (!answer_->expires || now + margin < *answer_->expires);
}

void Credentials::Impl::get(Done done) {
  if (read_files(false))
    build();
  if (!access_.identity.plugin || has_answer())
    return done(Pass(pass_)); // A copy, because `done` may change pass_.
  waiting_.push_back(std::move(done));
  if (!plugin_)
    ask_plugin();
}

bool Credentials::Impl::refused(std::uint64_t serial) {
  if (serial != pass_.serial)
    return true; // There is a newer pass already.
  if (read_files(true)) {
    build();
    return true;
  }
  refused_ = true;
  return access_.identity.plugin.has_value();
}

void Credentials::Impl::ask_plugin() {
  const auto& plugin = *access_.identity.plugin;
  ChildCommand command;
  command.program = plugin.program;
  command.argv = plugin.args;
  command.argv.insert(command.argv.begin(), plugin.command);
  command.environment = plugin.environment;
  command.interactive = plugin.interactive;
  command.limit = limit_;
  if (plugin.interactive) // It may print where to log in.
    command.on_errors = [this](std::string_view text) { stderr_.write(text); };
  auto done = [this](const ChildResult& result) { on_answer(result); };
  plugin_ = ChildProcess::start(loop_, std::move(command), done);
}

void Credentials::Impl::on_answer(const ChildResult& result) {
  auto self = shared_from_this();               // Waiting callers may destroy us.
  auto child = std::exchange(plugin_, nullptr); // It is calling us: must survive.
  auto waiting = std::exchange(waiting_, {});
  const auto& plugin = *access_.identity.plugin;
  Pass pass{{}, pass_.endpoint, pass_.serial, {}};
  auto problem = failure(result, limit_);
  try {
    if (!problem.empty())
      throw BadCredential(problem);
    on_credential(parse_exec_credential(result.output, plugin.api_version));
    pass = pass_;
  } catch (const BadCredential& bad) {
    pass.error = message(plugin, bad.what(), result);
  }
  for (auto& done : waiting)
    done(pass);
}

void Credentials::Impl::on_credential(ExecCredential credential) {
  auto before = std::exchange(answer_, std::move(credential)).value_or(ExecCredential());
  refused_ = false;
  if (before.client_cert_pem != answer_->client_cert_pem ||
      before.client_key_pem != answer_->client_key_pem)
    build_endpoint();
  build();
}

Credentials::Credentials(Loop& loop, Access access, std::chrono::milliseconds limit)
  : impl_(std::make_shared<Impl>(loop, std::move(access), limit)) {}

Credentials::~Credentials() = default;

void Credentials::get(Done done) {
  auto impl = impl_; // `done` may destroy us.
  impl->get(std::move(done));
}

bool Credentials::refused(std::uint64_t serial) {
  return impl_->refused(serial);
}

} // namespace fiber::backends::kubernetes
