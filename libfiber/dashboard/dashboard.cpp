// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/dashboard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/trusted_file.hpp"
#include "libfiber/dashboard/answer.hpp"
#include "libfiber/dashboard/guard.hpp"
#include "libfiber/dashboard/pace.hpp"
#include "libfiber/observer/session_view.hpp"
#include "wire/address.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::dashboard {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Error = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using tcp = asio::ip::tcp;
using Text = std::shared_ptr<const std::string>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

constexpr auto accept_pause = 1s;      ///< After a failed accept, which would fail again.
constexpr auto farewell_limit = 500ms; ///< For the last picture.
/// Bytes that the kernel keeps for a peer. With more, one that reads nothing would be
/// noticed only after minutes of small pictures.
constexpr int max_unread = 256 * 1024;

std::vector<std::string> own_names(const std::string& host) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return {host, name, std::string(name).substr(0, std::string_view(name).find('.'))};
}

/// A peer that has asked for events.
class Viewer {
public:
  virtual ~Viewer() = default;
  virtual bool ready() const = 0;
  virtual void push(Text text) = 0;
  bool has_all = false; ///< It got all pictures so far.
  bool told = false;    ///< It got the last one.
};

/// What connections use of the server.
struct Hub {
  Hub(Guard who, observer::SessionView& shown) : guard(std::move(who)), view(shown) {}
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  Guard guard;
  observer::SessionView& view;
  Snapshots snapshots{view};
  Shows shows{view, [this] { return snapshots.text(); }};
  int connections = 0;
  std::set<Viewer*> viewers = {};
  std::function<void()> viewer_ready = {}; ///< One came, or has read its picture.
};

beast::tcp_stream& lowest(beast::tcp_stream& stream) {
  return stream;
}
beast::tcp_stream& lowest(TlsStream& stream) {
  return stream.next_layer();
}

/// One peer. It lives as long as one of its operations is under way.
template <class Stream>
class Connection final : public Viewer,
                         public std::enable_shared_from_this<Connection<Stream>> {
public:
  static constexpr bool secure = std::is_same_v<Stream, TlsStream>;

  Connection(Hub& hub, std::string peer, Stream stream)
    : hub_(hub), peer_(std::move(peer)), stream_(std::move(stream)) {
    ++hub_.connections;
  }
  ~Connection() override {
    --hub_.connections;
    hub_.viewers.erase(this);
    if (hub_.viewer_ready)
      hub_.viewer_ready();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() {
    lowest(stream_).expires_after(Dashboard::peer_limit);
    if constexpr (secure)
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](const Error& error) {
                                if (!error)
                                  self->read();
                              });
    else
      read();
  }

  bool ready() const override { return !writing_; }

  void push(Text text) override { write(std::move(text), &Connection::wait_for_end); }

private:
  void read() {
    parser_.emplace();
    parser_->header_limit(Dashboard::max_request);
    lowest(stream_).expires_after(Dashboard::peer_limit);
    parse();
  }

  // Beast's async_read and async_write of messages are not used: for two kinds of streams
  // they compile for longer than all the rest of this file.
  void parse() {
    Error error;
    while (!error && !parser_->is_done())
      buffer_.consume(parser_->put(buffer_.data(), error));
    if (!error)
      return respond();
    if (error != http::error::need_more)
      return; // No HTTP, or too long: the connection ends.
    auto room = buffer_.prepare(buffer_.max_size() - buffer_.size());
    stream_.async_read_some(
      room, [self = this->shared_from_this()](const Error& failed, std::size_t size) {
        if (failed)
          return;
        self->buffer_.commit(size);
        self->parse();
      });
  }

  void respond() {
    auto made = answer(parser_->get(), peer_, secure, hub_.guard, hub_.shows);
    if (made.events)
      hub_.viewers.insert(this);
    write(std::make_shared<const std::string>(std::move(made.text)),
          made.events       ? &Connection::wait_for_end
          : made.keep_alive ? &Connection::read
                            : &Connection::end);
  }

  void write(Text text, void (Connection::*next)()) {
    writing_ = true;
    out_ = std::move(text);
    lowest(stream_).expires_after(Dashboard::peer_limit);
    asio::async_write(
      stream_, asio::buffer(*out_),
      [self = this->shared_from_this(), next](const Error& error, std::size_t) {
        self->writing_ = false;
        self->out_.reset();
        // Else it has gone, and this was its last operation.
        if (!error)
          (self.get()->*next)();
      });
  }

  void end() {
    Error ignored;
    lowest(stream_).socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  /// Keeps the viewer until it closes the connection, and tells the hub that the viewer
  /// is ready for a picture.
  void wait_for_end() {
    lowest(stream_).expires_never();
    if (!waiting_) {
      waiting_ = true;
      stream_.async_read_some(asio::buffer(ignored_), [self = this->shared_from_this()](
                                                        const Error&, std::size_t) {
        // The viewer has closed the connection, or has sent bytes after its request for
        // events, which the protocol of events does not allow.
        self->hub_.viewers.erase(self.get());
        Error ignored;
        lowest(self->stream_).socket().close(ignored);
      });
    }
    hub_.viewer_ready();
  }

  Hub& hub_;
  const std::string peer_;
  Stream stream_;
  beast::flat_buffer buffer_{2 * Dashboard::max_request};
  std::optional<http::request_parser<http::empty_body>> parser_;
  Text out_;
  bool writing_ = false, waiting_ = false;
  std::array<char, 64> ignored_{};
};

} // namespace

class Dashboard::Server {
public:
  Server(const DashboardOptions& options, observer::SessionView& view)
    : hub_(Guard(options.token, own_names(options.host)), view) {
    open(options);
    hub_.viewer_ready = [this] { serve_viewers(); };
    accept();
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "fiber-page"); // Shows what it costs.
      context_.run();
    });
  }

  ~Server() {
    asio::post(context_, [this] { say_farewell(); });
    thread_.join();
    hub_.viewer_ready = nullptr;
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& url() const { return url_; }

private:
  void open(const DashboardOptions& options) {
    if (options.certificate.empty() != options.key.empty())
      throw SettingProblem(options.key.empty() ? "dashboard_key"
                                               : "dashboard_certificate",
                           "it is missing; TLS needs both files");
    if (!options.certificate.empty())
      load_certificate(options);
    auto listening = listen_at(options.host, options.port);
    if (!listening.loopback && (options.token.empty() || !tls_))
      throw SettingProblem(
        options.token.empty() ? "dashboard_token" : "dashboard_certificate",
        "it is missing, and others than this machine could look at " + listening.address +
          "; they may only with dashboard_token, dashboard_certificate and "
          "dashboard_key. Without these, serve 127.0.0.1");
    hub_.guard.listens_at(listening.port);
    url_ = (tls_ ? "https://" : "http://") + listening.address + "/";
    acceptor_.assign(listening.v6 ? tcp::v6() : tcp::v4(), listening.socket.get());
    listening.socket.release();
  }

  void load_certificate(const DashboardOptions& options) {
    tls_.emplace(asio::ssl::context::tls_server);
    tls_->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
    Error error;
    tls_->use_certificate_chain_file(options.certificate, error);
    if (error)
      throw SettingProblem("dashboard_certificate",
                           "'" + options.certificate + "': " + error.message());
    std::optional<std::string> key;
    try {
      key = read_trusted(options.key);
    } catch (const UntrustedFile& untrusted) {
      throw SettingProblem("dashboard_key", untrusted.what());
    } catch (const std::system_error&) { // As one that is not there.
    }
    if (!key)
      throw SettingProblem("dashboard_key", "'" + options.key + "' can't be read");
    tls_->use_private_key(asio::buffer(*key), asio::ssl::context::pem, error);
    if (error)
      throw SettingProblem("dashboard_key", "'" + options.key + "': " + error.message());
  }

  void accept() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const Error& error) {
      if (!error)
        take();
    });
  }

  void take() {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    // By hand, so that no child process ever inherits the socket.
    UniqueFd peer(::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&from),
                            &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (peer) // Without it the kernel's own limit holds.
      ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDBUF, &max_unread, sizeof max_unread);
    auto lasting = !peer && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    if (peer && hub_.connections < max_connections)
      serve(std::move(peer), from.ss_family == AF_INET6);
    else if (peer)
      refusals_.refused(wire::peer_host(peer.get()),
                        "the page has " + std::to_string(max_connections) +
                          " connections, and admits no more");
    if (!lasting)
      return accept();
    pause_.expires_after(accept_pause);
    pause_.async_wait([this](const Error& cancelled) {
      if (!cancelled)
        accept();
    });
  }

  void serve(UniqueFd peer, bool v6) {
    Error error;
    tcp::socket socket(context_);
    socket.assign(v6 ? tcp::v6() : tcp::v4(), peer.get(), error);
    if (error)
      return;
    peer.release();
    auto address = socket.remote_endpoint(error).address().to_string();
    beast::tcp_stream stream(std::move(socket));
    if (tls_)
      std::make_shared<Connection<TlsStream>>(hub_, std::move(address),
                                              TlsStream(std::move(stream), *tls_))
        ->start();
    else
      std::make_shared<Connection<beast::tcp_stream>>(hub_, std::move(address),
                                                      std::move(stream))
        ->start();
  }

  /// Makes the next picture as soon as it is due, if somebody can take it.
  void serve_viewers() {
    if (leaving_)
      return leave_if_told();
    auto waits = std::ranges::any_of(hub_.viewers, &Viewer::ready);
    if (!waits || std::exchange(due_, true))
      return;
    timer_.expires_at(std::max(Clock::now(), pace_.next()));
    timer_.async_wait([this](const Error& cancelled) {
      due_ = false;
      if (!cancelled && !leaving_)
        push_picture();
    });
  }

  void push_picture() {
    auto begin = own_cpu();
    std::vector<Viewer*> ready;
    for (auto* viewer : hub_.viewers) {
      if (viewer->ready())
        ready.push_back(viewer);
      else
        viewer->has_all = false;
    }
    if (ready.empty())
      return;
    auto all = std::ranges::all_of(ready, &Viewer::has_all);
    auto picture = hub_.view.picture(picture_patience, all ? stream_next_ : 0);
    picture["over"] = false;
    picture["interval_seconds"] = std::chrono::duration<double>(pace_.pause()).count();
    picture["whole"] = true; // The stream has all that is kept.
    Text news, whole;
    if (!all)
      whole = event_of(picture);
    if (std::ranges::any_of(ready, &Viewer::has_all)) {
      picture["whole"] = false;
      if (!all)
        drop_seen(picture["stream"]);
      news = event_of(picture);
    }
    if (auto& stream = picture["stream"]; stream.is_object())
      stream_next_ = stream.at("next");
    for (auto* viewer : ready)
      viewer->push(std::exchange(viewer->has_all, true) ? news : whole);
    pace_.made(begin);
  }

  /// Leaves in the stream what viewers that have all do not know yet.
  void drop_seen(json& stream) const {
    if (!stream.is_object())
      return;
    auto first = stream.at("first").get<std::uint64_t>();
    auto& rows = stream["rows"];
    auto seen =
      std::min<std::uint64_t>(stream_next_ - std::min(first, stream_next_), rows.size());
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(seen));
    stream["first"] = first + seen;
  }

  static Text event_of(const json& picture) {
    return std::make_shared<const std::string>(
      "event: picture\ndata: " + text_of(picture) + "\n\n");
  }

  void say_farewell() {
    Error ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    timer_.cancel();
    leaving_ = true;
    timer_.expires_after(farewell_limit);
    timer_.async_wait([this](const Error& cancelled) {
      if (!cancelled)
        context_.stop();
    });
    leave_if_told();
  }

  /// Sends the last picture to each viewer that can take it. Ends the work once all have
  /// it.
  void leave_if_told() {
    for (auto* viewer : hub_.viewers)
      if (viewer->ready() && !std::exchange(viewer->told, true))
        viewer->push(last_picture());
    if (std::ranges::all_of(hub_.viewers,
                            [](auto* viewer) { return viewer->told && viewer->ready(); }))
      context_.stop();
  }

  Text last_picture() {
    if (!last_) {
      auto picture = hub_.view.picture(picture_patience, 0);
      picture["whole"] = picture["over"] = true;
      last_ = event_of(picture);
    }
    return last_;
  }

  Hub hub_; // Outlives the connections, which end with the context.
  std::optional<asio::ssl::context> tls_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_}, timer_{context_};
  std::string url_;
  bool due_ = false, leaving_ = false;
  Text last_;                     ///< The last picture; null: there is none yet.
  std::uint64_t stream_next_ = 0; ///< The first span that no viewer has.
  Pace pace_;
  wire::RefusalLog refusals_;
  std::thread thread_;
};

Dashboard::Dashboard(const DashboardOptions& options, observer::SessionView& view)
  : server_(std::make_unique<Server>(options, view)) {}

Dashboard::~Dashboard() = default;

const std::string& Dashboard::url() const {
  return server_->url();
}

} // namespace fiber::dashboard
