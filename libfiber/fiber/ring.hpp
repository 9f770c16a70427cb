// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/checkpoint.hpp"
#include "fiber/detail/results.hpp"
#include "fiber/ring_member.hpp"
#include "fiber/value.hpp"

namespace fiber {

/// The options of a Ring.
struct RingOptions {
  /// Members; 0: cpu_count().
  std::size_t size = 0;
  /// What each member's job may use.
  Resources resources = {};
  /// How often the ring is formed again after it has lost a member; -1: no limit.
  int max_restarts = 3;
  /// The file of RingMember::checkpoint(), on this machine: see fiber/checkpoint.hpp.
  /// Empty: the checkpoint is in memory, for one run().
  std::string checkpoint = {};
  /// For debugging: members tell each other what they call before each collective and
  /// each message, and calls that do not fit throw Error. See RingMember.
  bool check = false;
};

namespace detail {

class RingCore;

template <class F>
struct RingResult {
  static_assert(std::is_invocable_v<F&, RingMember&>,
                "fiber: the function of a ring is called with a RingMember&; what else "
                "it needs can be bound: bind(f, a, b) is called with (a, b, member)");
  using type = std::decay_t<std::invoke_result_t<F&, RingMember&>>;
};
/// What a ring's function returns, as a value.
template <class F>
using ring_result_t = typename RingResult<F>::type;

/// A ring's function as a member's job runs it.
template <class R, class F>
class RingCall {
public:
  explicit RingCall(F f) : f_(std::move(f)) {}

  R operator()(const RingSeat& seat, const Checkpoint& checkpoint) {
    RingMember member(seat, checkpoint);
    try {
      if constexpr (std::is_void_v<R>) {
        std::invoke(f_, member);
        member.leave();
      } else {
        R result = std::invoke(f_, member);
        member.leave();
        return result;
      }
    } catch (...) {
      member.rethrow();
    }
  }

  const Resources& resources() const
    requires Measured<F>
  {
    return f_.resources();
  }
  void fiber_pack(Writer& writer) const { pack_callable(writer, f_); }
  static RingCall fiber_unpack(Reader& reader) {
    return RingCall(unpack_callable<F>(reader));
  }

private:
  F f_;
};

/// A Ring without the types of its function.
class RingHandle {
public:
  /// Throws as Ring's constructors.
  RingHandle(const RingOptions& options, AnyCallable call);
  /// The results by rank. Throws as Ring::run().
  std::vector<RawOutcome> run() const;

private:
  std::shared_ptr<RingCore> core_;
};

} // namespace detail

/// Members that run one function together, each in a separate job, and talk to each
/// other directly by Gloo: for data-parallel training, and for anything that is made for
/// ranks (MPI, NCCL, torch.distributed). `R` is what the function returns: Ring<double>,
/// or as the constructor deduces it.
///
///     double train(fiber::RingMember& member);
///     fiber::Ring ring(4, train);
///     std::vector<double> losses = ring.run();
///
/// Members stand and fall together. When one is lost, all jobs end at once, a new ring is
/// formed of new jobs, and the function begins again, with RingMember::attempt() one
/// more. After RingOptions::max_restarts of these run() throws WorkerLost.
///
/// The function is what Pool takes, called with a RingMember&; bind(f, a, b) is called
/// with (a, b, member). On an inline session a ring has one member, since such a session
/// runs on one thread.
///
/// What members tell each other is not encrypted: see docs/reference/ring.md.
///
/// Thread safety: any thread may call any member function.
template <class R>
class Ring {
public:
  /// Packs `f`; nothing runs yet. Throws Closed without a session; ConfigError for
  /// options that can't be used, and if members would talk over a network without the
  /// setting ring_plaintext; Error for several members on an inline session; and what
  /// packing throws.
  template <class F>
  Ring(RingOptions options, F f) : handle_(options, pack(std::move(f))) {}
  /// A ring of `size` members.
  template <class F>
  Ring(std::size_t size, F f) : Ring(RingOptions{.size = size}, std::move(f)) {}

  /// Runs the function in all members. Blocks, and returns a std::vector of the results
  /// by rank; nothing if the function returns void. Each call forms a new ring. Throws
  /// RemoteError if the function throws, with the rank as its index(); if several members
  /// throw, with the first failure that is known. The other members end then. Throws
  /// WorkerLost if members were lost too often: index() is the rank of the last one,
  /// exits() has one entry a loss. Throws BackendError, TimeoutError or VersionMismatch
  /// if a job can't be started; Closed at the end of the session.
  detail::vector_of_t<R> run() {
    auto outcomes = handle_.run();
    if constexpr (!std::is_void_v<R>) {
      std::vector<R> results;
      results.reserve(outcomes.size());
      for (auto& each : outcomes) {
        Reader reader(each.value.bytes());
        results.push_back(unpack<R>(reader));
        each = {}; // It may be large.
      }
      return results;
    }
  }

private:
  template <class F>
  static AnyCallable pack(F f) {
    detail::check_callable<F>();
    static_assert(std::is_void_v<R> || std::is_convertible_v<detail::ring_result_t<F>, R>,
                  "fiber: the function does not return what this Ring is of");
    if constexpr (!std::is_void_v<R>)
      detail::check_value<R>();
    return AnyCallable::of<std::tuple<detail::RingSeat, Checkpoint>, true>(
      detail::RingCall<R, F>(std::move(f)));
  }

  detail::RingHandle handle_;
};

template <class F>
Ring(RingOptions, F) -> Ring<detail::ring_result_t<F>>;
template <class F>
Ring(std::size_t, F) -> Ring<detail::ring_result_t<F>>;

} // namespace fiber
