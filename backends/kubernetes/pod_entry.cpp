// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/pod_entry.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "backends/container/container_entry.hpp"
#include "backends/kubernetes/base64.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::kubernetes {

namespace {

Bytes to_bytes(const std::string& text) {
  auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(begin, begin + text.size());
}

} // namespace

JobEntry enter_pod(const std::string& boot) {
  auto path = std::string(keys_folder) + "/" + keys_file;
  fiber::detail::Classic<std::ifstream> file(path, std::ios::binary);
  std::string keys{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw EngineError("enter job", 0, path + " can't be read; the pod's Secret has it");
  auto decoded = decode_base64(boot);
  if (!decoded)
    throw EngineError("enter job", 0, "FIBER_NODE says \"pod:\" and then no base64");
  JobEntry entry;
  entry.boot = to_bytes(*decoded);
  entry.keys = to_bytes(keys);
  begin_container();
  return entry;
}

} // namespace fiber::backends::kubernetes
