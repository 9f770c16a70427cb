// SPDX-License-Identifier: Apache-2.0
#include "backends/http/easy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "backends/backend.hpp"
#include "base/ascii.hpp"
#include "base/system_error_text.hpp"

namespace fiber::backends::http {

namespace {

constexpr std::chrono::milliseconds connect_limit{10000};

std::string_view trim(std::string_view text) {
  constexpr auto blank = " \t\r\n";
  auto begin = text.find_first_not_of(blank);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

std::string host_of(const std::string& url) {
  auto begin = url.find("://");
  begin = begin == url.npos ? 0 : begin + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

/// Returns the path that precedes those of all requests: "/prefix", mostly empty.
std::string prefix_of(const std::string& url) {
  auto begin = url.find("://");
  auto path = url.find('/', begin == url.npos ? 0 : begin + 3);
  return path == url.npos ? "" : url.substr(path);
}

void set_blob(CURL* easy, CURLoption option, const std::string& pem) {
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  curl().easy_setopt(easy, option, &blob);
}

void configure_tls(CURL* easy, const Endpoint& endpoint) {
  if (!endpoint.ca_pem.empty()) {
    // libcurl would trust the CAs of the system as well.
    curl().easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    curl().easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    set_blob(easy, CURLOPT_CAINFO_BLOB, endpoint.ca_pem);
  }
  if (!endpoint.client_cert_pem.empty()) {
    curl().easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl().easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    set_blob(easy, CURLOPT_SSLCERT_BLOB, endpoint.client_cert_pem);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, endpoint.client_key_pem);
  }
  if (endpoint.insecure) {
    curl().easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl().easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

} // namespace

Easy::Easy()
  : easy_(curl().easy_init()), words_(std::make_unique<char[]>(CURL_ERROR_SIZE)) {
  if (!easy_)
    throw EngineError("make a request", 0, "libcurl has no handle left");
  curl().easy_setopt(get(), CURLOPT_ERRORBUFFER, words_.get());
}

std::string Easy::problem(CURLcode result) const {
  std::string words = words_[0] != '\0' ? words_.get() : curl().easy_strerror(result);
  long error = 0; // libcurl's text lacks the reason.
  if (result == CURLE_COULDNT_CONNECT &&
      curl().easy_getinfo(get(), CURLINFO_OS_ERRNO, &error) == CURLE_OK && error != 0)
    words += ": " + system_error_text(static_cast<int>(error));
  return words;
}

void Easy::append(List& list, const std::string& text) {
  auto* longer = curl().slist_append(list.get(), text.c_str());
  static_cast<void>(list.release());
  list.reset(longer);
}

void Easy::add_header(const std::string& header) {
  append(headers_, header);
}

/// Makes libcurl connect to the endpoint's host but use server_name for the request and
/// the certificate check. Returns the URL.
std::string Easy::with_server_name(const Endpoint& endpoint) {
  auto host = host_of(endpoint.url);
  auto colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) != host.npos)
    colon = host.npos; // It is within an IPv6 address.
  auto port = colon == host.npos ? std::string("443") : host.substr(colon + 1);
  append(connect_to_,
         endpoint.server_name + ":" + port + ":" + host.substr(0, colon) + ":" + port);
  curl().easy_setopt(get(), CURLOPT_CONNECT_TO, connect_to_.get());
  auto url = endpoint.url;
  return url.replace(url.find(host), host.size(), endpoint.server_name + ":" + port);
}

void Easy::configure(const Endpoint& endpoint, const Request& request) {
  auto* easy = get();
  auto url = endpoint.server_name.empty() ? endpoint.url : with_server_name(endpoint);
  curl().easy_setopt(easy, CURLOPT_URL, (url + request.path).c_str());
  curl().easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
  if (!endpoint.unix_socket.empty())
    curl().easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint.unix_socket.c_str());
  configure_tls(easy, endpoint);
  if (!endpoint.proxy.empty()) {
    curl().easy_setopt(easy, CURLOPT_PROXY, endpoint.proxy.c_str());
    curl().easy_setopt(easy, CURLOPT_NOPROXY, ""); // Configured explicitly.
  } else if (is_loopback(endpoint.url)) {
    curl().easy_setopt(easy, CURLOPT_NOPROXY, "*"); // A proxy's own is another machine.
  }
  curl().easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl().easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(connect_limit.count()));
  curl().easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.limit.count()));
  if (request.silence_limit.count() > 0) {
    curl().easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl().easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                       static_cast<long>((request.silence_limit.count() + 999) / 1000));
  }
  curl().easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl().easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
  curl().easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
}

Transfer::Transfer(const Endpoint& endpoint, Request request, StreamHandler handler,
                   Client::Done done, std::function<void()> on_pause)
  : request_(std::move(request)), handler_(std::move(handler)), done_(std::move(done)),
    on_pause_(std::move(on_pause)) {
  for (auto& header : request_.headers)
    easy_.add_header(header);
  easy_.add_header("Expect:"); // Avoids 100-continue round trips.
  easy_.configure(endpoint, request_);
  if (!request_.body.empty() || request_.method == "POST") {
    curl().easy_setopt(easy(), CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request_.body.size()));
    curl().easy_setopt(easy(), CURLOPT_POSTFIELDS, request_.body.data());
  }
  curl().easy_setopt(easy(), CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  curl().easy_setopt(easy(), CURLOPT_WRITEDATA, this);
  curl().easy_setopt(
    easy(), CURLOPT_WRITEFUNCTION,
    +[](char* data, std::size_t size, std::size_t count, void* self) {
      return static_cast<Transfer*>(self)->take({data, size * count});
    });
  curl().easy_setopt(easy(), CURLOPT_HEADERDATA, this);
  curl().easy_setopt(
    easy(), CURLOPT_HEADERFUNCTION,
    +[](char* data, std::size_t size, std::size_t count, void* self) {
      static_cast<Transfer*>(self)->take_header({data, size * count});
      return size * count;
    });
}

int Transfer::status() const {
  long code = 0;
  curl().easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

void Transfer::take_header(std::string_view line) {
  line = trim(line);
  if (line.starts_with("HTTP/")) {
    reply_.headers.clear(); // They were an interim or proxy reply's.
    return;
  }
  if (auto colon = line.find(':'); colon != line.npos)
    reply_.headers[ascii::lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
  if (line.empty() && status() >= 200 && handler_.head &&
      !std::exchange(head_told_, true))
    handler_.head(status());
}

std::size_t Transfer::take(std::string_view piece) {
  if (!handler_.data || status() / 100 != 2) {
    reply_.body += piece;
    return piece.size();
  }
  if (paused_)
    return CURL_WRITEFUNC_PAUSE;
  if (!handler_.data(piece)) {
    paused_ = true; // The handler took this piece; libcurl holds back the next.
    on_pause_();
  }
  return piece.size();
}

void Transfer::unpause() {
  if (!handler_.data({}))
    return on_pause_();
  paused_ = false;
  curl().easy_pause(easy(), CURLPAUSE_CONT);
}

void Transfer::finish(CURLcode result) {
  reply_.status = status();
  if (result != CURLE_OK) {
    reply_.error = easy_.problem(result);
    reply_.status = 0;
    reply_.untrusted = result == CURLE_PEER_FAILED_VERIFICATION;
  }
  char* address = nullptr;
  if (curl().easy_getinfo(easy(), CURLINFO_LOCAL_IP, &address) == CURLE_OK && address)
    reply_.local_address = address;
  if (done_)
    done_(std::move(reply_));
}

void Transfer::silence() {
  handler_ = {};
  done_ = nullptr;
  on_pause_ = [] {};
}

std::string request_text(const Endpoint& endpoint, const Request& request) {
  auto text = request.method + " " + prefix_of(endpoint.url) + request.path +
              " HTTP/1.1\r\nHost: " + host_of(endpoint.url) +
              "\r\nConnection: Upgrade\r\nUpgrade: " + request.protocol + "\r\n";
  if (!request.body.empty() || request.method == "POST")
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  for (auto& header : request.headers)
    text += header + "\r\n";
  return text + "\r\n" + request.body;
}

int status_of(std::string_view head) {
  auto space = head.find(' ');
  int status = -1;
  if (head.starts_with("HTTP/") && space != head.npos)
    std::from_chars(head.data() + space + 1, head.data() + head.size(), status);
  return status;
}

std::optional<std::size_t> content_length(std::string_view head) {
  auto text = ascii::lower(head.substr(0, head.find("\r\n\r\n")));
  constexpr std::string_view name = "\r\ncontent-length:";
  auto at = text.find(name);
  if (at == text.npos)
    return {};
  auto number = trim(std::string_view(text).substr(at + name.size()));
  std::size_t length = 0;
  auto end = number.data() + number.size();
  if (std::from_chars(number.data(), end, length).ec != std::errc())
    return {};
  return length;
}

bool is_loopback(const std::string& url) {
  auto begin = url.find("://");
  begin = begin == url.npos ? 0 : begin + 3;
  auto host = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  if (auto colon = host.rfind(':');
      colon != host.npos &&
      host.find_first_not_of("0123456789", colon + 1) == host.npos) // No end of "[::1]".
    host.resize(colon);
  in_addr address{};
  return host == "localhost" || host == "[::1]" ||
         (::inet_pton(AF_INET, host.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET);
}

std::string escape(std::string_view text) {
  constexpr auto digits = "0123456789ABCDEF";
  std::string result;
  for (unsigned char c : text) {
    const auto plain = static_cast<char>(c);
    if (ascii::is_letter_or_digit(plain) ||
        std::string_view("-._~").find(plain) != std::string_view::npos)
      result += plain;
    else
      result.append({'%', digits[c >> 4], digits[c & 15]});
  }
  return result;
}

} // namespace fiber::backends::http
