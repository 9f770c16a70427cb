// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "fiber/detail/living_object.hpp"
#include "fiber/detail/packed_item.hpp"
#include "fiber/detail/results.hpp"
#include "fiber/future.hpp"
#include "fiber/value.hpp"

// Handles to objects that live in a job. Manager::create (fiber/manager.hpp) and
// Supervisor::spawn (fiber/supervisor.hpp) make them.

namespace fiber {

/// Whether a call of this member may run again when it may have run already. Declare it
/// behind the class, outside of all namespaces:
///
///   template <>
///   inline constexpr bool fiber::idempotent<&Table::lookup> = true;
///
/// If the job is lost while such a call is in flight, the call runs again when the
/// Supervisor, or a Manager that restarts, has made the object again. The caller only
/// notices the delay. This happens after each loss, until the object has ended for good:
/// then the call throws WorkerLost like any other. The call sees the state that the
/// object has by then. It runs before calls that came after it, and keeps its order among
/// those that run again with it. The calling process keeps the arguments until the call
/// is answered.
///
/// A send() still runs at most once, as it promises.
///
/// A function object for call() or async() may declare itself idempotent as well, by
/// `static constexpr bool idempotent = true;`.
template <auto member>
inline constexpr bool idempotent = false;

namespace detail {

template <class C>
class Living : public LivingObject {
public:
  template <class... Args>
  explicit Living(Args&&... args) : object(std::forward<Args>(args)...) {}
  C object;
};

template <class C, class... Args>
std::unique_ptr<LivingObject> make_object(Reader& arguments) {
  auto args = unpack<std::tuple<Args...>>(arguments);
  return std::apply(
    [](auto&... each) -> std::unique_ptr<LivingObject> {
      return std::make_unique<Living<C>>(std::move(each)...);
    },
    args);
}

/// A member of a class as a callable without state.
template <auto member>
struct Member {
  static constexpr bool idempotent = fiber::idempotent<member>;

  template <class C, class... Args>
    requires std::is_invocable_v<decltype(member), C&, Args...>
  decltype(auto) operator()(C& object, Args&&... args) const {
    return std::invoke(member, object, std::forward<Args>(args)...);
  }
};

template <class F, class C, class... Args>
decltype(auto) call_on(F& f, C& object, Args&... args) {
  if constexpr (std::is_invocable_v<F&, C&, Args&&...>)
    return std::invoke(f, object, std::move(args)...);
  else
    return std::invoke(f, object, args...);
}

template <class F, class C, class... Args>
concept TakesObject =
  std::is_invocable_v<F&, C&, Args&&...> || std::is_invocable_v<F&, C&, Args&...>;

template <class F, class C, class... Args>
struct ObjectCallResult { // See CallResult.
  static_assert(TakesObject<F, C, Args...>,
                "fiber: the object can't be called with these arguments");
  using type = void;
};
template <class F, class C, class... Args>
  requires TakesObject<F, C, Args...>
struct ObjectCallResult<F, C, Args...> {
  using type = std::decay_t<decltype(call_on(std::declval<F&>(), std::declval<C&>(),
                                             std::declval<Args&>()...))>;
};
/// What f(object, args...) returns, as a value, where `object` is a `C`.
template <class F, class C, class... Args>
using object_result_t = typename ObjectCallResult<F, C, value_t<Args>...>::type;

template <class C, class F, class... Args>
void call_object(LivingObject& object, Reader& arguments, Writer& result) {
  auto* living = dynamic_cast<Living<C>*>(&object);
  if (living == nullptr) // The call comes from another process, which may lie.
    throw_other_object(object, typeid(Living<C>));
  auto f = unpack_callable<F>(arguments);
  auto args = unpack<std::tuple<Args...>>(arguments);
  auto& target = living->object;
  std::apply(
    [&](auto&... each) {
      using R = object_result_t<F, C, Args...>;
      if constexpr (std::is_void_v<R>)
        call_on(f, target, each...);
      else
        pack<R>(result, call_on(f, target, each...));
    },
    args);
}

template <class F>
concept Idempotent = requires { requires std::bool_constant<F::idempotent>::value; };
/// What a caller that waits for F's result asks for.
template <class F>
inline constexpr ObjectOp call_op = Idempotent<F> ? ObjectOp::repeat : ObjectOp::call;

class RefCore;

/// A Ref without the type of its object. Null after default construction.
class ObjectRef {
public:
  ObjectRef() = default;
  explicit ObjectRef(std::shared_ptr<RefCore> core) : core_(std::move(core)) {}

  /// Waits for the result; throws what came instead.
  RawOutcome call(PackedItem item) const;
  std::shared_ptr<Results> async(PackedItem item) const;
  void send(PackedItem item) const;

  template <class C, class F, class... Args>
  PackedItem pack_call(ObjectOp op, const F& f, Args&&... args) const {
    (check_value<value_t<Args>>(), ...);
    return PackedItem::of([&](Writer& writer) {
      begin(writer, op);
      pack_entry<CodeKind::call_object, &call_object<C, F, value_t<Args>...>>(writer);
      pack_callable(writer, f);
      using Tuple = std::tuple<value_t<Args>...>;
      pack<Tuple>(writer, Tuple(std::forward<Args>(args)...));
    });
  }

  bool operator==(const ObjectRef& other) const;
  void fiber_pack(Writer& writer) const;
  static ObjectRef fiber_unpack(Reader& reader);

private:
  /// Throws Error if it refers to nothing.
  const std::shared_ptr<RefCore>& core() const;
  void begin(Writer& writer, ObjectOp op) const;

  std::shared_ptr<RefCore> core_;
};

} // namespace detail

class Supervisor;

/// A handle to a `C` that lives in a job. It goes anywhere a value does: in containers,
/// as an argument, through queues. The object lives as long as its manager and any
/// handle, in any process; an object of a Supervisor lives as long as the Supervisor
/// keeps it.
///
/// A call packs its arguments, runs in the object's job and brings back what it returns,
/// as a value. Calls of one object run one at a time; calls of one thread run in their
/// order. Any number may be in flight.
///
/// A call throws RemoteError if the member throws; WorkerLost if the job was lost while
/// the call was in flight, as it may have run (a call of an `idempotent` member runs
/// again instead); Closed if the manager, the supervisor or the session has ended; and
/// what packing throws.
///
/// With a dependent type write `template`, as always: ref.template call<&C::m>(...).
///
/// Thread safety: any thread of any process may call any member function.
template <class C>
class Ref {
public:
  /// What f(C&, args...) returns, as a value: without reference and const. For a pointer
  /// to a data member that is the member's type.
  template <class F, class... Args>
  using result_t = detail::object_result_t<F, C, Args...>;

  /// Refers to nothing: all calls throw Error.
  Ref() = default;

  /// Calls a member function, or reads a data member. Blocks, and returns the result.
  template <auto member, class... Args>
    requires std::is_member_pointer_v<decltype(member)>
  result_t<decltype(member), Args...> call(Args&&... args) const {
    return call(detail::Member<member>{}, std::forward<Args>(args)...);
  }
  /// Runs f(C&, args...) where the object is. Blocks, and returns the result. For
  /// overloaded members, and for several steps in one trip.
  template <class F, class... Args>
  result_t<F, Args...> call(F f, Args&&... args) const {
    return detail::open_outcome<result_t<F, Args...>>(
      object_.call(pack(detail::call_op<F>, f, std::forward<Args>(args)...)));
  }

  /// As call(), without waiting: the Future has the result. Its cancel() takes a call
  /// back that has not begun.
  template <auto member, class... Args>
    requires std::is_member_pointer_v<decltype(member)>
  Future<result_t<decltype(member), Args...>> async(Args&&... args) const {
    return async(detail::Member<member>{}, std::forward<Args>(args)...);
  }
  /// As call(f, args...), without waiting.
  template <class F, class... Args>
  Future<result_t<F, Args...>> async(F f, Args&&... args) const {
    return Future<result_t<F, Args...>>(
      object_.async(pack(detail::call_op<F>, f, std::forward<Args>(args)...)));
  }

  /// Calls a member function at most once, without a reply: no one is told whether it ran
  /// or threw. Blocks only while more than 1 MiB of this process's sends, or 4,096 of
  /// them, have not run on this object. So a call must not send that much to its own
  /// object.
  template <auto member, class... Args>
    requires std::is_member_pointer_v<decltype(member)>
  void send(Args&&... args) const {
    send(detail::Member<member>{}, std::forward<Args>(args)...);
  }
  /// The same for f(C&, args...).
  template <class F, class... Args>
  void send(F f, Args&&... args) const {
    object_.send(pack(detail::ObjectOp::call, f, std::forward<Args>(args)...));
  }

  /// Whether both refer to the same object.
  bool operator==(const Ref&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { object_.fiber_pack(writer); }
  static Ref fiber_unpack(Reader& reader) {
    return Ref(detail::ObjectRef::fiber_unpack(reader));
  }

private:
  friend class Manager;
  friend class Supervisor;
  template <class D>
  friend std::optional<Ref<D>> find(const std::string& name);
  explicit Ref(detail::ObjectRef object) : object_(std::move(object)) {}

  template <class F, class... Args>
  detail::PackedItem pack(detail::ObjectOp op, const F& f, Args&&... args) const {
    detail::check_callable<F>();
    detail::check_result<result_t<F, Args...>>();
    return object_.pack_call<C>(op, f, std::forward<Args>(args)...);
  }

  detail::ObjectRef object_;
};

} // namespace fiber
