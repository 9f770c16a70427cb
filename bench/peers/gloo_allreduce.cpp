// SPDX-License-Identifier: Apache-2.0
// Gloo called directly: four forked processes that find each other by a file, over
// loopback TCP, and add up floats.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "allreduce.hpp"
#include "peers/measurement.hpp"

namespace {

/// Older versions of Gloo take the store itself.
template <class Context, class Store, class Device>
void connect_all(Context& context, const std::shared_ptr<Store>& store, Device& device) {
  if constexpr (requires { context.connectFullMesh(store, device); })
    context.connectFullMesh(store, device);
  else
    context.connectFullMesh(*store, device);
}

double measure(int rank, const std::string& folder, const std::string& row) {
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  auto context = std::make_shared<gloo::rendezvous::Context>(
    rank, static_cast<int>(bench::ring_members));
  auto store = std::make_shared<gloo::rendezvous::FileStore>(folder);
  connect_all(*context, store, device);
  std::vector<float> values(bench::floats_of(row));
  std::uint32_t tag = 0;
  auto once = [&] {
    gloo::AllreduceOptions options(context);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
      gloo::sum<float>(out, a, b, n);
    });
    options.setTag(++tag);
    gloo::allreduce(options);
  };
  auto agree = [&](int calls) {
    gloo::BroadcastOptions options(context);
    options.setOutput(&calls, 1);
    options.setRoot(0);
    options.setTag(++tag);
    gloo::broadcast(options);
    return calls;
  };
  auto rate = bench::calls_per_second(once, agree);
  agree(0); // None leaves while another one still hears from it.
  return rate;
}

} // namespace

int main(int argc, char** argv) {
  const std::string row = argc == 2 ? argv[1] : "";
  if (!row.starts_with("ring_allreduce_")) {
    std::cerr << "usage: gloo_allreduce ring_allreduce_{4k,1m,64m}\n";
    return 2;
  }
  std::string folder = "/tmp/gloo_allreduce.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), folder);
  for (int rank = 0; rank < static_cast<int>(bench::ring_members); ++rank) {
    if (fork() != 0)
      continue;
    auto rate = measure(rank, folder, row);
    if (rank == 0) {
      peers::report_version("Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." +
                            std::to_string(GLOO_VERSION_MINOR) + "." +
                            std::to_string(GLOO_VERSION_PATCH));
      peers::report(row, rate, "calls/s");
    }
    std::_Exit(EXIT_SUCCESS);
  }
  auto failed = false;
  for (int status = 0; wait(&status) > 0;)
    failed = failed || status != 0;
  std::filesystem::remove_all(folder);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
