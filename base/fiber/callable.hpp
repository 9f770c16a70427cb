// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "fiber/detail/archived_handle.hpp"
#include "fiber/detail/entry_point.hpp"
#include "fiber/value.hpp"

// What can run in another process: a plain function, a lambda without captures, a
// function object that is a value (fiber/value.hpp), or bind(f, args...). A callable
// travels as its place within the executable or shared library (build id and offset), so
// nothing has to be registered.

namespace fiber {

/// What one job may use. A backend that can't grant it throws an error that says so. On
/// the local backend an allocation beyond memory_mb throws std::bad_alloc,
/// CUDA_VISIBLE_DEVICES names the job's GPUs, and a job that asks for more than one cpu
/// is limited to that many cores.
struct Resources {
  /// Cores, more than 0.
  double cpu = 1;
  /// Memory in MiB; 0: no limit.
  std::size_t memory_mb = 0;
  /// GPUs, whole devices only.
  int gpu = 0;
  bool operator==(const Resources&) const = default;
};

namespace detail {

/// A callable that was unpacked in a job, ready to run tasks.
class Body {
public:
  virtual ~Body() = default;
  /// Runs one task: reads its arguments and writes its result. Throws what the callable
  /// throws.
  virtual void run(Reader& arguments, Writer& result) = 0;
};
/// Unpacks a callable.
using Open = std::unique_ptr<Body> (*)(Reader& state);

template <class F>
inline constexpr bool is_function =
  std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>;

/// Made anew in the job instead of packed, since it holds nothing.
template <class F>
inline constexpr bool is_stateless =
  std::is_empty_v<F> && std::is_default_constructible_v<F> && !has_serialize_member<F>();

template <class F>
constexpr void check_callable() {
  static_assert(
    !is_capturing_closure<F>,
    "fiber: a lambda with captures can't be sent to another process; use "
    "fiber::bind(lambda, values...) with a lambda that captures nothing, or a "
    "function object with a serialize() member");
  static_assert(
    !std::is_member_pointer_v<F>,
    "fiber: a pointer to a member can't be sent; wrap the call in a lambda that "
    "captures nothing");
  if constexpr (!is_function<F> && !is_stateless<F>)
    check_value<F>();
}

template <class F>
void pack_callable(Writer& writer, const F& f) {
  check_callable<F>();
  if constexpr (is_function<F>)
    pack_code(writer, code_of(f), CodeKind::function);
  else if constexpr (!is_stateless<F>)
    pack<F>(writer, f);
}

template <class F>
F unpack_callable(Reader& reader) {
  if constexpr (is_function<F>)
    return unpack_function<F>(reader, CodeKind::function);
  else if constexpr (is_stateless<F>)
    return F{};
  else
    return unpack<F>(reader);
}

/// Calls `f` with `args`: as rvalues if `f` can be called so, else as lvalues.
template <class F, class... Args>
decltype(auto) call(F& f, Args&... args) {
  if constexpr (std::is_invocable_v<F&, Args&&...>)
    return std::invoke(f, std::move(args)...);
  else
    return std::invoke(f, args...);
}

template <class F, class... Args>
concept Takes = std::is_invocable_v<F&, Args&&...> || std::is_invocable_v<F&, Args&...>;

/// The type that call() returns, decayed. A callable that does not fit is refused by this
/// one sentence: `void` keeps the compiler from adding "no matching function".
template <class F, class... Args>
struct CallResult {
  static_assert(Takes<F, Args...>,
                "fiber: the callable can't be called with these arguments");
  using type = void;
};
template <class F, class... Args>
  requires Takes<F, Args...>
struct CallResult<F, Args...> {
  using type = std::decay_t<decltype(call(std::declval<F&>(), std::declval<Args&>()...))>;
};
template <class R>
constexpr void check_result() {
  if constexpr (!std::is_void_v<R>) {
    check_value<R>();
    static_assert(
      std::is_copy_constructible_v<R>,
      "fiber: a result must be copyable, since copies of a Future share it; return a "
      "std::shared_ptr, or a type with a copy constructor");
  }
}

/// A callable with resources: see meta().
template <class F>
concept Measured = requires(const F& f) {
  { f.resources() } -> std::same_as<const Resources&>;
};

} // namespace detail

/// What f(args...) returns in a job, as a value: without reference and const. The
/// arguments are values as well: a string literal arrives as a std::string.
template <class F, class... Args>
using call_result_t = typename detail::CallResult<F, detail::value_t<Args>...>::type;

/// What bind() returns: a callable with its first arguments fixed. A value, as in
/// fiber/value.hpp.
template <class F, class... Bound>
class BoundCallable {
public:
  /// See bind(), which also checks the types.
  BoundCallable(F f, Bound... bound) : f_(std::move(f)), bound_(std::move(bound)...) {}

  template <class... Args>
    requires(std::is_invocable_v<F&, const Bound&..., Args...> ||
             std::is_invocable_v<F&, Bound&..., Args...>)
  /// Calls f(bound..., args...) and returns what it returns. The next task uses the same
  /// bound values, so `f` gets them as const if it can be called so.
  decltype(auto) operator()(Args&&... args) {
    return std::apply(
      [&](Bound&... bound) -> decltype(auto) {
        if constexpr (std::is_invocable_v<F&, const Bound&..., Args...>)
          return std::invoke(f_, std::as_const(bound)..., std::forward<Args>(args)...);
        else
          return std::invoke(f_, bound..., std::forward<Args>(args)...);
      },
      bound_);
  }

  /// The resources of `f`, if it has any: see meta().
  const Resources& resources() const
    requires detail::Measured<F>
  {
    return f_.resources();
  }
  /// How the callable travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const {
    detail::pack_callable(writer, f_);
    pack(writer, bound_);
  }
  static BoundCallable fiber_unpack(Reader& reader) {
    auto f = detail::unpack_callable<F>(reader);
    return {Unpacked{}, std::move(f), unpack<std::tuple<Bound...>>(reader)};
  }

private:
  struct Unpacked {};
  BoundCallable(Unpacked, F f, std::tuple<Bound...> bound)
    : f_(std::move(f)), bound_(std::move(bound)) {}

  F f_;
  std::tuple<Bound...> bound_;
};

/// Returns `f` with its first arguments fixed: bind(f, a, b)(c) calls f(a, b, c). The
/// bound values are packed once for each call of a Pool and sent once to each job, not
/// once per task.
template <class F, class... Args>
BoundCallable<F, detail::value_t<Args>...> bind(F f, Args&&... args) {
  detail::check_callable<F>();
  (detail::check_value<detail::value_t<Args>>(), ...);
  return {std::move(f), std::forward<Args>(args)...};
}

/// What meta() returns: a callable and the resources that it needs. A value, as in
/// fiber/value.hpp.
template <class F>
class MeasuredCallable {
public:
  /// See meta(), which also checks the type.
  MeasuredCallable(F f, Resources resources) : f_(std::move(f)), resources_(resources) {}

  /// Calls f(args...) and returns what it returns.
  template <class... Args>
    requires std::is_invocable_v<F&, Args...>
  decltype(auto) operator()(Args&&... args) {
    return std::invoke(f_, std::forward<Args>(args)...);
  }

  /// The resources that a job must have.
  const Resources& resources() const { return resources_; }
  /// How the callable travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { detail::pack_callable(writer, f_); }
  static MeasuredCallable fiber_unpack(Reader& reader) {
    return {detail::unpack_callable<F>(reader), {}};
  }

private:
  F f_;
  Resources resources_;
};

/// Returns `f` with the resources that it needs. A Pool that has not started gives its
/// jobs these resources; a call of a Pool whose jobs have less throws ConfigError, which
/// names both.
template <class F>
MeasuredCallable<F> meta(F f, Resources resources) {
  detail::check_callable<F>();
  return {std::move(f), resources};
}

namespace detail {

template <class F, class Argument, bool spread>
class CallableBody final : public Body {
public:
  static std::unique_ptr<Body> open(Reader& state) {
    return std::make_unique<CallableBody>(unpack_callable<F>(state));
  }
  explicit CallableBody(F f) : f_(std::move(f)) {}

  void run(Reader& arguments, Writer& result) override {
    auto argument = unpack<Argument>(arguments);
    auto finish = [&](auto&... args) {
      using R = call_result_t<F, std::remove_reference_t<decltype(args)>...>;
      if constexpr (std::is_void_v<R>) {
        call(f_, args...);
      } else if constexpr (FlatVector<R>) {
        R items = call(f_, args...);
        result.size(items.size());
        result.end_with(std::move(items));
      } else {
        pack<R>(result, call(f_, args...));
      }
    };
    if constexpr (spread)
      std::apply(finish, argument);
    else
      finish(argument);
  }

private:
  F f_;
};

/// The number of what a handle refers to, and where it lives.
struct HeldId {
  /// The home of shared values, which are numbered separately.
  static constexpr std::uint64_t shared_values = UINT64_MAX;

  /// The incarnation of a process; 0: the driver.
  std::uint64_t home = shared_values;
  std::uint64_t number = 0;
  auto operator<=>(const HeldId&) const = default;
};

/// What a handle refers to, as this process knows it. It lives at least as long as this.
class Held {
public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  virtual ~Held() = default;
  virtual HeldId held_id() const = 0;
};
using KeptObjects = std::vector<std::shared_ptr<const Held>>;

/// Collects what handles refer to while these are packed, so that it lives until the
/// bytes are used. A handle adds to the innermost scope of its thread.
class KeepScope {
public:
  KeepScope();
  ~KeepScope();
  KeepScope(const KeepScope&) = delete;
  KeepScope& operator=(const KeepScope&) = delete;
  /// Gives away what was collected.
  KeptObjects take();
  /// Adds to the innermost scope of this thread, if there is one.
  static void keep(std::shared_ptr<const Held> object);

private:
  KeptObjects kept_;
  KeepScope* outer_;
};

} // namespace detail

/// A callable without arguments, packed: the type of options such as
/// PoolOptions::initializer. What Fiber uses besides is below operator bool.
///
/// Thread safety: as a std::shared_ptr; copies share what is packed.
class AnyCallable {
public:
  /// Holds nothing.
  AnyCallable() = default;
  /// Packs `f`, which is called as f(). Throws what packing throws.
  template <class F>
    requires(!std::same_as<F, AnyCallable> && detail::Takes<F>)
  AnyCallable(F f) // NOLINT(google-explicit-constructor): options read better so
    : AnyCallable(of<std::tuple<>, true>(f)) {}

  /// Whether it holds a callable.
  explicit operator bool() const { return open_ != nullptr; }

  /// Packs `f`, which is called with an unpacked `Argument`, or with the parts of that if
  /// `spread`.
  template <class Argument, bool spread, class F>
  static AnyCallable of(const F& f) {
    AnyCallable callable;
    callable.open_ = detail::entry<detail::CodeKind::open,
                                   &detail::CallableBody<F, Argument, spread>::open>();
    detail::KeepScope scope;
    Bytes state;
    Writer writer(state);
    detail::pack_callable(writer, f);
    callable.state_ = Payload(std::move(state));
    callable.kept_ = scope.take();
    if constexpr (detail::Measured<F>)
      callable.resources_ = f.resources();
    return callable;
  }

  /// A callable that needs no state; `open` comes from detail::entry().
  static AnyCallable opened_by(detail::Open open) {
    AnyCallable callable;
    callable.open_ = open;
    return callable;
  }

  /// The function that unpacks it.
  detail::Open open() const { return open_; }
  /// The packed callable, which open() unpacks.
  const Payload& state() const { return state_; }
  /// The resources that meta() gave it, if any.
  const std::optional<Resources>& resources() const { return resources_; }

private:
  detail::Open open_ = nullptr;
  Payload state_;
  detail::KeptObjects kept_;
  std::optional<Resources> resources_;
};

} // namespace fiber
