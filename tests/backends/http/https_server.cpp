// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/http/https_server.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace fiber::backends {

namespace {

template <auto F>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    F(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free_all>>;

void require(bool good, const char* what) {
  if (!good)
    throw std::runtime_error(std::string("the test's HTTPS server: ") + what);
}

void add_extension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  require(extension && X509_add_ext(certificate, extension, -1) == 1, "extension");
  X509_EXTENSION_free(extension);
}

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size()) {
      result +=
        static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  return result;
}

/// Parses "a=1&b=2".
std::map<std::string, std::string> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    auto pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    auto equals = std::min(pair.find('='), pair.size());
    query[decoded(pair.substr(0, equals))] =
      decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  return query;
}

void parse_head(std::string_view head, HttpsRequest& request) {
  auto line = head.substr(0, head.find("\r\n"));
  auto space = line.find(' ');
  request.method = line.substr(0, space);
  auto target = line.substr(space + 1);
  target = target.substr(0, target.find(' '));
  auto mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  request.query = parse_query(target.substr(std::min(mark + 1, target.size())));
  while (line.size() + 2 <= head.size()) {
    head.remove_prefix(line.size() + 2);
    line = head.substr(0, std::min(head.find("\r\n"), head.size()));
    auto colon = line.find(": ");
    if (colon == line.npos)
      continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers[name] = line.substr(colon + 2);
  }
}

std::string head_of(int status, const HttpsConnection::Headers& headers) {
  auto text = "HTTP/1.1 " + std::to_string(status) + " -\r\n";
  if (!headers.contains("Content-Type"))
    text += "Content-Type: application/json\r\n";
  for (auto& [name, value] : headers)
    text += name + ": " + value + "\r\n";
  return text;
}

} // namespace

// -- a connection -----------------------------------------------------------------------

bool HttpsConnection::accept(SSL_CTX* context) {
  char first = 0;
  if (::recv(fd_.get(), &first, 1, MSG_PEEK) != 1)
    return false;
  if (first == 'C') { // CONNECT; the rest of its head is in no hurry either.
    proxied_ = true;
    std::string head;
    for (char c = 0; !head.ends_with("\r\n\r\n"); head += c)
      if (::recv(fd_.get(), &c, 1, 0) != 1)
        return false;
    constexpr std::string_view yes = "HTTP/1.1 200 -\r\n\r\n";
    if (::send(fd_.get(), yes.data(), yes.size(), MSG_NOSIGNAL) < 0)
      return false;
  }
  ssl_.reset(SSL_new(context));
  return ssl_ && SSL_set_fd(ssl_.get(), fd_.get()) == 1 && SSL_accept(ssl_.get()) == 1;
}

bool HttpsConnection::read(HttpsRequest& request) {
  char buffer[16 * 1024];
  auto more = [&] {
    int got = SSL_read(ssl_.get(), buffer, sizeof buffer);
    if (got > 0)
      received_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  };
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == received_.npos)
    if (!more())
      return false;
  request = {};
  parse_head(std::string_view(received_).substr(0, end), request);
  received_.erase(0, end + 4);
  auto length = request.headers.find("content-length");
  std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
  while (received_.size() < size)
    if (!more())
      return false;
  request.body = received_.substr(0, size);
  received_.erase(0, size);
  request.proxied = proxied_;
  if (const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name))
    request.server_name = name;
  return true;
}

bool HttpsConnection::write(std::string_view bytes) {
  return fd_ && !shut_ &&
         (bytes.empty() ||
          SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0);
}

bool HttpsConnection::reply(int status, const std::string& body, const Headers& headers) {
  return write(head_of(status, headers) +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

bool HttpsConnection::begin(int status, const Headers& headers) {
  return write(head_of(status, headers) + "Transfer-Encoding: chunked\r\n\r\n");
}

bool HttpsConnection::piece(std::string_view text) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return text.empty() || write(size + std::string(text) + "\r\n");
}

bool HttpsConnection::end() {
  return write("0\r\n\r\n");
}

void HttpsConnection::reset() {
  std::lock_guard lock(mutex_);
  linger hard{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  fd_.reset();
}

bool HttpsConnection::gone() {
  pollfd state{fd_.get(), POLLIN | POLLRDHUP, 0};
  return !fd_ || shut_ || ::poll(&state, 1, 0) > 0;
}

void HttpsConnection::shut() {
  std::lock_guard lock(mutex_);
  shut_ = true;
  if (fd_)
    ::shutdown(fd_.get(), SHUT_RDWR);
}

// -- the server -------------------------------------------------------------------------

HttpsServer::HttpsServer(Handler handler, const std::string& names)
  : handler_(std::move(handler)), context_(SSL_CTX_new(TLS_server_method())) {
  make_certificate(names);
  listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  require(::bind(listener_.get(), generic, size) == 0 &&
            ::listen(listener_.get(), 128) == 0 &&
            ::getsockname(listener_.get(), generic, &size) == 0,
          "listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

HttpsServer::~HttpsServer() {
  stop();
}

void HttpsServer::stop() {
  if (stopping_.exchange(true))
    return;
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
  for (auto& [connection, thread] : connections_)
    connection->shut();
  for (auto& [connection, thread] : connections_)
    thread.join();
}

void HttpsServer::make_certificate(const std::string& names) {
  Key key(EVP_EC_gen("P-256"));
  Certificate certificate(X509_new());
  require(context_ && key && certificate, "no memory");
  auto* made = certificate.get();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  constexpr long day = 24 * 60 * 60;
  X509_gmtime_adj(X509_getm_notBefore(made), -day);
  X509_gmtime_adj(X509_getm_notAfter(made), day);
  X509_set_pubkey(made, key.get());
  auto* subject = X509_get_subject_name(made);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(made, subject);
  add_extension(made, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(made, NID_subject_alt_name, names);
  require(X509_sign(made, key.get(), EVP_sha256()) > 0 &&
            SSL_CTX_use_certificate(context_.get(), made) == 1 &&
            SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1,
          "certificate");
  Memory pem(BIO_new(BIO_s_mem()));
  require(pem && PEM_write_bio_X509(pem.get(), made) == 1, "PEM");
  char* data = nullptr;
  auto size = BIO_get_mem_data(pem.get(), &data);
  ca_pem_.assign(data, static_cast<std::size_t>(size));
}

void HttpsServer::run() {
  ::pthread_setname_np(::pthread_self(), "https");
  for (;;) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (stopping_)
      return;
    if (!fd)
      continue;
    int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_shared<HttpsConnection>(std::move(fd));
    connections_.emplace_back(connection,
                              std::thread([this, connection] { serve(*connection); }));
  }
}

void HttpsServer::serve(HttpsConnection& connection) {
  sigset_t pipe; // SSL_write() has no MSG_NOSIGNAL.
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  if (connection.accept(context_.get())) {
    ++handshakes_;
    for (HttpsRequest request; connection.fd_ && connection.read(request);)
      handler_(request, connection);
  }
  std::lock_guard lock(connection.mutex_);
  connection.fd_.reset();
}

} // namespace fiber::backends
