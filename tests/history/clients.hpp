// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>

#include "tests/history/recorder.hpp"

// What the clients do. Each runs in a process of its own until `stop` is set, and records
// its calls and their answers.

namespace fiber::history {

/// One thing that clients use, with its name in the history.
template <class T>
struct Named {
  std::string name;
  T object;

  void fiber_pack(Writer& writer) const {
    pack(writer, name);
    pack(writer, object);
  }
  static Named fiber_unpack(Reader& reader) {
    auto name = unpack<std::string>(reader);
    return {std::move(name), unpack<T>(reader)};
  }
};

using Open = SimpleQueue<std::string>; ///< A queue without a capacity.
using Bounded = Queue<std::string>;
using Number = Value<std::int64_t>;

void produce(Client client, Named<Open> queue, Event stop);
void produce_bounded(Client client, Named<Bounded> queue, Event stop);
void consume(Client client, Named<Open> queue, Event stop);
void consume_bounded(Client client, Named<Bounded> queue, Event stop);
/// Takes what is left when nobody else uses the queue, and joins it.
void drain(Recorder& recorder, const Named<Open>& queue);
void drain(Recorder& recorder, const Named<Bounded>& queue);

void hold_lock(Client client, Named<Lock> lock, Event stop);
void hold_semaphore(Client client, Named<Semaphore> semaphore, Event stop);
/// Until the barrier breaks.
void meet(Client client, Named<Barrier> barrier);
void change(Client client, std::vector<Named<Number>> values, Event stop);

/// What is in the manager's job beside the values, and tells when that is lost.
class Home {
public:
  explicit Home(const Client& client);
  void ping() const {}
};

/// The result of a task, and the run that it is of.
struct Result {
  std::int64_t value = 0;
  std::string run;
  std::size_t task = 0;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& value& run& task;
  }
};

/// A task of a pool: its run goes into the history.
Result run_task(const std::string& file, std::size_t task);

} // namespace fiber::history
