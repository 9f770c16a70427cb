// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_math.hpp"

#include <algorithm>
#include <cstdint>

namespace fiber::detail {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Least {
  template <class T>
  static T of(T a, T b) {
    return std::min(a, b);
  }
};
struct Most {
  template <class T>
  static T of(T a, T b) {
    return std::max(a, b);
  }
};

template <class T, class Op>
void reduce(void* out, const void* a, const void* b, std::size_t n) {
  auto* to = static_cast<T*>(out);
  auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i)
    to[i] = Op::of(left[i], right[i]);
}

template <class T>
RingReduce reduce_of(RingOp op) {
  return op == RingOp::min   ? &reduce<T, Least>
         : op == RingOp::max ? &reduce<T, Most>
                             : &reduce<T, Add>;
}

template <class T>
void divide_by(void* values, std::size_t n, std::size_t members) {
  auto* all = static_cast<T*>(values);
  for (std::size_t i = 0; i < n; ++i)
    all[i] /= static_cast<T>(members);
}

} // namespace

std::size_t size_of(RingType type) {
  return type == RingType::f32 || type == RingType::i32 ? 4 : 8;
}

RingReduce ring_reduce(RingType type, RingOp op) {
  switch (type) {
  case RingType::f32:
    return reduce_of<float>(op);
  case RingType::f64:
    return reduce_of<double>(op);
  case RingType::i32:
    return reduce_of<std::int32_t>(op);
  case RingType::i64:
    return reduce_of<std::int64_t>(op);
  }
  return nullptr;
}

void divide(void* values, std::size_t n, RingType type, std::size_t members) {
  switch (type) {
  case RingType::f32:
    return divide_by<float>(values, n, members);
  case RingType::f64:
    return divide_by<double>(values, n, members);
  case RingType::i32:
    return divide_by<std::int32_t>(values, n, members);
  case RingType::i64:
    return divide_by<std::int64_t>(values, n, members);
  }
}

RingSlice ring_part(std::size_t n, std::size_t members, std::size_t rank) {
  auto each = n / members, more = n % members;
  return {rank * each + std::min(rank, more), each + (rank < more ? 1 : 0)};
}

} // namespace fiber::detail
