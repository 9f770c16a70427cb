// SPDX-License-Identifier: Apache-2.0
#include "backends/http/client.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <utility>

#include "backends/backend.hpp"
#include "backends/http/easy.hpp"

namespace fiber::backends::http {

namespace {

constexpr std::chrono::milliseconds unpause_after{50};

struct MultiDelete {
  void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
};
using MultiPtr = std::unique_ptr<CURLM, MultiDelete>;

} // namespace

/// The running requests. The loop drives them: libcurl names the descriptors and the
/// timer that it waits for.
class Client::Impl : public std::enable_shared_from_this<Client::Impl> {
public:
  Impl(Loop& loop, Endpoint endpoint);

  Id start(Request request, StreamHandler handler, Done done);
  void cancel(Id id);
  void close();
  std::shared_ptr<Upgrade> upgrade(const Request& request, StreamHandler handler,
                                   Done done);

  Loop& loop;
  Endpoint endpoint;
  std::atomic<bool> closed = false;

private:
  friend class UpgradedConnection;

  void act(curl_socket_t socket, int events);
  void collect();
  void wait_for(curl_socket_t socket, int what);
  void set_timer(long milliseconds);
  void unpause_later();

  MultiPtr multi_;
  std::map<Id, std::shared_ptr<Transfer>> transfers_;
  std::map<CURL*, std::function<void(CURLcode)>> connecting_;
  Loop::Timer timer_;
  bool unpausing_ = false;
  bool http2_ = false; // The last reply came over HTTP/2.
  Id last_id_ = 0;
};

Client::Impl::Impl(Loop& with, Endpoint to)
  : loop(with), endpoint(std::move(to)), multi_(curl().multi_init()) {
  curl().multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl().multi_setopt(
    multi_.get(), CURLMOPT_SOCKETFUNCTION,
    +[](CURL*, curl_socket_t socket, int what, void* self, void*) {
      static_cast<Impl*>(self)->wait_for(socket, what);
      return 0;
    });
  curl().multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  curl().multi_setopt(
    multi_.get(), CURLMOPT_TIMERFUNCTION, +[](CURLM*, long milliseconds, void* self) {
      static_cast<Impl*>(self)->set_timer(milliseconds);
      return 0;
    });
}

void Client::Impl::wait_for(curl_socket_t socket, int what) {
  if (what == CURL_POLL_REMOVE)
    return loop.unwatch(socket);
  std::uint32_t events = 0;
  if (what & CURL_POLL_IN)
    events |= EPOLLIN;
  if (what & CURL_POLL_OUT)
    events |= EPOLLOUT;
  loop.watch(socket, events, [this, socket](std::uint32_t ready) {
    act(socket, (ready & EPOLLIN ? CURL_CSELECT_IN : 0) |
                  (ready & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                  (ready & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0));
  });
}

void Client::Impl::set_timer(long milliseconds) {
  loop.cancel(timer_);
  if (milliseconds >= 0)
    timer_ = loop.after(std::chrono::milliseconds(milliseconds),
                        [this] { act(CURL_SOCKET_TIMEOUT, 0); });
}

void Client::Impl::act(curl_socket_t socket, int events) {
  auto self = shared_from_this(); // A Done may destroy the client.
  int running = 0;
  curl().multi_socket_action(multi_.get(), socket, events, &running);
  collect();
}

void Client::Impl::collect() {
  int left = 0;
  while (multi_) {
    auto* message = curl().multi_info_read(multi_.get(), &left);
    if (message == nullptr)
      return;
    if (message->msg != CURLMSG_DONE)
      continue;
    auto* easy = message->easy_handle;
    auto result = message->data.result;
    if (auto waiting = connecting_.extract(easy)) {
      waiting.mapped()(result);
      continue;
    }
    auto known = std::find_if(transfers_.begin(), transfers_.end(),
                              [&](auto& each) { return each.second->easy() == easy; });
    curl().multi_remove_handle(multi_.get(), easy);
    if (known == transfers_.end())
      continue;
    auto transfer = std::move(known->second);
    transfers_.erase(known);
    long version = 0;
    curl().easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    if (result == CURLE_OK)
      http2_ = version == CURL_HTTP_VERSION_2_0;
    transfer->finish(result);
  }
}

Client::Id Client::Impl::start(Request request, StreamHandler handler, Done done) {
  auto id = ++last_id_;
  if (!multi_)
    return id;
  transfers_[id] =
    std::make_shared<Transfer>(endpoint, std::move(request), std::move(handler),
                               std::move(done), [this] { unpause_later(); });
  // Later, because libcurl's callbacks must not start requests.
  loop.post([weak = weak_from_this(), id] {
    auto self = weak.lock();
    if (!self || !self->multi_)
      return;
    auto transfer = self->transfers_.find(id);
    if (transfer == self->transfers_.end())
      return;
    auto* easy = transfer->second->easy();
    // Over HTTP/2, a new connection serves all requests that wait for it. Over HTTP/1.1
    // it serves one, and libcurl 8.14 leaves the others waiting until some request ends.
    if (self->http2_)
      curl().easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl().multi_add_handle(self->multi_.get(), easy);
  });
  return id;
}

void Client::Impl::unpause_later() {
  if (std::exchange(unpausing_, true))
    return;
  loop.after(unpause_after, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self || !self->multi_)
      return;
    self->unpausing_ = false;
    std::vector<Id> paused;
    for (auto& [id, transfer] : self->transfers_)
      if (transfer->paused())
        paused.push_back(id);
    for (auto id : paused)
      if (auto found = self->transfers_.find(id); found != self->transfers_.end())
        found->second->unpause();
    self->act(CURL_SOCKET_TIMEOUT, 0);
  });
}

void Client::Impl::cancel(Id id) {
  auto found = transfers_.extract(id);
  if (!found)
    return;
  found.mapped()->silence();
  loop.post([weak = weak_from_this(), transfer = std::move(found.mapped())] {
    if (auto self = weak.lock(); self && self->multi_)
      curl().multi_remove_handle(self->multi_.get(), transfer->easy());
  });
}

void Client::Impl::close() {
  for (auto& [id, transfer] : transfers_)
    curl().multi_remove_handle(multi_.get(), transfer->easy());
  transfers_.clear();
  connecting_.clear();
  multi_.reset();
  loop.cancel(timer_);
}

// -- upgraded connections --

/// libcurl only connects (socket, TLS, proxy). The request and the stream after it are
/// our own, because libcurl does not support connections that stop being HTTP.
class UpgradedConnection final : public Client::Upgrade,
                                 public std::enable_shared_from_this<UpgradedConnection> {
public:
  UpgradedConnection(std::shared_ptr<Client::Impl> client, const Request& request,
                     StreamHandler handler, Client::Done done)
    : client_(std::move(client)), out_{request_text(client_->endpoint, request)},
      handler_(std::move(handler)), done_(std::move(done)) {
    easy_.configure(client_->endpoint, request);
    curl().easy_setopt(easy_.get(), CURLOPT_CONNECT_ONLY, 1L);
    // HTTP/2 has no such connections.
    curl().easy_setopt(easy_.get(), CURLOPT_HTTP_VERSION,
                       static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  ~UpgradedConnection() override { close(); }

  void connect() {
    if (!client_->multi_)
      return;
    client_->connecting_[easy_.get()] = [weak = weak_from_this()](CURLcode result) {
      if (auto self = weak.lock())
        self->connected(result);
    };
    curl().multi_add_handle(client_->multi_.get(), easy_.get());
  }

  void write(std::string bytes) override {
    if (bytes.empty())
      return;
    out_.push_back(std::move(bytes));
    if (socket_ >= 0)
      send();
  }

  void close() override {
    if (!client_)
      return;
    if (socket_ >= 0)
      client_->loop.unwatch(socket_);
    if (client_->multi_) {
      client_->connecting_.erase(easy_.get());
      curl().multi_remove_handle(client_->multi_.get(), easy_.get());
    }
    easy_ = Easy();
    socket_ = CURL_SOCKET_BAD;
    client_ = nullptr;
    handler_ = {};
    done_ = nullptr;
  }

private:
  void connected(CURLcode result) {
    if (result == CURLE_OK)
      result = curl().easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket_);
    if (result != CURLE_OK)
      return over(easy_.problem(result));
    send();
  }

  void attend() {
    auto events = EPOLLIN | (out_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
    client_->loop.watch(socket_, events, [weak = weak_from_this()](std::uint32_t ready) {
      auto self = weak.lock();
      if (self && (ready & EPOLLOUT) && self->client_)
        self->send();
      if (self && (ready & ~std::uint32_t{EPOLLOUT}) && self->client_)
        self->receive();
    });
  }

  void send() {
    while (!out_.empty()) {
      auto& piece = out_.front(); // TLS wants the same bytes at the same place again.
      std::size_t sent = 0;
      auto result =
        curl().easy_send(easy_.get(), piece.data() + sent_, piece.size() - sent_, &sent);
      if (result == CURLE_AGAIN)
        break;
      if (result != CURLE_OK)
        return over(easy_.problem(result));
      sent_ += sent;
      if (sent_ < piece.size())
        continue;
      out_.pop_front();
      sent_ = 0;
    }
    attend();
  }

  void receive() {
    char buffer[64 * 1024];
    for (int round = 0; round < 16 && client_; ++round) {
      std::size_t got = 0;
      auto result = curl().easy_recv(easy_.get(), buffer, sizeof buffer, &got);
      if (result == CURLE_AGAIN)
        return;
      if (result != CURLE_OK || got == 0)
        return over(result == CURLE_OK ? "" : easy_.problem(result));
      take({buffer, got});
    }
  }

  void take(std::string_view bytes) {
    if (reply_.status != 101 && reply_.status != 200) {
      head_ += bytes;
      auto end = head_.find("\r\n\r\n");
      if (reply_.status == 0 && end == head_.npos)
        return;
      if (reply_.status == 0)
        reply_.status = status_of(head_);
      if (reply_.status == 101 || reply_.status == 200) {
        std::string rest = head_.substr(end + 4);
        if (handler_.head)
          handler_.head(reply_.status);
        return rest.empty() || !client_ ? void() : pass(rest);
      }
      reply_.body = head_.substr(end + 4);
      if (auto length = content_length(head_); length && reply_.body.size() >= *length)
        over("");
      return;
    }
    pass(bytes);
  }

  /// Passes bytes to the handler. Stops reading while it has no room.
  void pass(std::string_view bytes) {
    if (handler_.data(bytes) || !client_)
      return;
    client_->loop.unwatch(socket_);
    ask_again();
  }

  void ask_again() {
    client_->loop.after(unpause_after, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self || !self->client_)
        return;
      if (!self->handler_.data({}))
        return self->ask_again();
      self->attend();
    });
  }

  void over(const std::string& error) {
    auto keep = shared_from_this();
    reply_.error = error;
    auto done = std::move(done_);
    auto reply = std::move(reply_);
    close();
    if (done)
      done(std::move(reply));
  }

  std::shared_ptr<Client::Impl> client_;
  Easy easy_;
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  std::deque<std::string> out_;
  std::size_t sent_ = 0; // Of the first.
  std::string head_;
  Reply reply_;
  StreamHandler handler_;
  Client::Done done_;
};

std::shared_ptr<Client::Upgrade> Client::Impl::upgrade(const Request& request,
                                                       StreamHandler handler, Done done) {
  auto connection = std::make_shared<UpgradedConnection>(
    shared_from_this(), request, std::move(handler), std::move(done));
  connection->connect();
  return connection;
}

// -- the client --

Client::Client(Loop& loop, Endpoint endpoint)
  : impl_(std::make_shared<Impl>(loop, std::move(endpoint))) {}

Client::~Client() {
  close();
}

void Client::close() {
  if (impl_->closed.exchange(true))
    return;
  std::promise<void> closed;
  impl_->loop.post([&] {
    impl_->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

Client::Id Client::send(Request request, Done done) {
  return impl_->start(std::move(request), {}, std::move(done));
}

Client::Id Client::stream(Request request, StreamHandler handler, Done done) {
  return impl_->start(std::move(request), std::move(handler), std::move(done));
}

void Client::cancel(Id id) {
  impl_->cancel(id);
}

void Client::set_endpoint(Endpoint endpoint) {
  impl_->endpoint = std::move(endpoint);
}

Reply Client::call(Request request) {
  std::promise<Reply> promise;
  auto reply = promise.get_future();
  impl_->loop.post([&] {
    send(std::move(request), [&](Reply got) { promise.set_value(std::move(got)); });
  });
  return reply.get();
}

std::shared_ptr<Client::Upgrade> Client::upgrade(const Request& request,
                                                 StreamHandler handler, Done done) {
  return impl_->upgrade(request, std::move(handler), std::move(done));
}

} // namespace fiber::backends::http
