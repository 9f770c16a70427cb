// SPDX-License-Identifier: Apache-2.0
#include "fiber/ring_member.hpp"

#include <utility>

#include "base/forked_child.hpp"
#include "libfiber/ring/ring_link.hpp"

namespace fiber {

using detail::RingOp;
using detail::RingType;

namespace {

/// Returns the link, which a forked child does not have: what it sends would be taken for
/// what its parent sends.
detail::RingLink& own(detail::RingLink& link) {
  check_not_forked();
  return link;
}

} // namespace

RingMember::RingMember(const detail::RingSeat& seat, Checkpoint checkpoint)
  : rank_(seat.rank), size_(seat.size), attempt_(static_cast<int>(seat.attempt)),
    checkpoint_(std::move(checkpoint)), link_(std::make_unique<detail::RingLink>(seat)) {}
RingMember::~RingMember() = default;

void RingMember::leave() {
  end_if_forked_child("the function of a ring");
  link_->leave();
}
void RingMember::rethrow() {
  end_if_forked_child("the function of a ring");
  link_->rethrow();
}

void RingMember::barrier() {
  own(*link_).barrier();
}
void RingMember::broadcast(void* values, std::size_t n, RingType type, std::size_t root) {
  own(*link_).broadcast(values, n, type, root);
}
void RingMember::allreduce(void* values, std::size_t n, RingType type, RingOp op) {
  own(*link_).allreduce(values, n, type, op);
}
void RingMember::allgather(const void* values, std::size_t n, RingType type, void* all) {
  own(*link_).allgather(values, n, type, all);
}
void RingMember::reduce_scatter(const void* values, std::size_t n, RingType type,
                                RingOp op, void* part) {
  own(*link_).reduce_scatter(values, n, type, op, part);
}
void RingMember::send(const void* values, std::size_t n, RingType type, std::size_t to) {
  own(*link_).send(values, n, type, to);
}
void RingMember::recv(void* values, std::size_t n, RingType type, std::size_t from) {
  own(*link_).recv(values, n, type, from);
}

std::shared_ptr<gloo::Context> RingMember::gloo() {
  return own(*link_).context();
}

} // namespace fiber
