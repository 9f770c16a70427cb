// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_job.hpp"

#include <unistd.h>

#include "backends/local/start_message.hpp"

namespace fiber::backends::local {

void LocalJob::prepare(Output& reader) {
  if (!start)
    start = write_start(spec, descriptors, cores);
  if (output_added)
    return;
  auto [read_end, write_end] = make_pipe();
  reader.add(serial, spec.name, std::move(read_end));
  output = std::move(write_end);
  output_added = true;
}

Message LocalJob::request(std::vector<int>& fds) const {
  Message message{.kind = Kind::job, .pid = ::getpid(), .serial = serial};
  auto carry = [&](Carried what, int fd) {
    if (fd < 0)
      return;
    message.carried |= what;
    fds.push_back(fd);
  };
  carry(Carried::start, start.get());
  carry(Carried::output, output.get());
  carry(Carried::link, link.get());
  carry(Carried::page, page ? page->fd() : -1);
  return message;
}

void LocalJob::started() {
  link.reset();
  start.reset();
  output.reset();
  if (page)
    page->close_fd();
  page.reset();
  spec.boot = {};
  spec.environment = {};
}

} // namespace fiber::backends::local
