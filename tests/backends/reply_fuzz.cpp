// SPDX-License-Identifier: Apache-2.0
// The first byte chooses who speaks: an engine, a cluster, or the output of a job. What
// it says is read to the end, or refused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "backends/docker/engine.hpp"
#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/exec_credential.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/slurm/job_rows.hpp"

namespace fiber::backends {
namespace {

void require(bool promise) {
  if (!promise)
    std::abort();
}

/// Gives the text to `feed` in pieces of a length that its first byte says.
template <class Feed>
void in_pieces(std::string_view text, Feed feed) {
  if (text.empty())
    return;
  const std::size_t piece = 1 + static_cast<unsigned char>(text[0]);
  for (text.remove_prefix(1); !text.empty();
       text.remove_prefix(std::min(piece, text.size())))
    feed(text.substr(0, piece));
}

void docker_stream(std::string_view text) {
  docker::StreamDecoder decoder;
  std::size_t out = 0;
  in_pieces(text, [&](std::string_view part) {
    decoder.feed(part, [&](std::string_view bytes) { out += bytes.size(); });
  });
  require(out <= text.size());
}

void crash_lines(std::string_view text) {
  CrashLineFilter filter;
  std::string out;
  const auto keep = [&](std::string_view part) { out += part; };
  in_pieces(text, [&](std::string_view part) { filter.pass(part, keep); });
  filter.end(keep);
  require(out.size() <= text.size());
}

/// A line of a watch, and the pod in it.
void pod_event(std::string_view text) {
  const auto event = kubernetes::parse_reply(std::string(text));
  const auto& pod = kubernetes::part(event, "object");
  static_cast<void>(kubernetes::text(event, "type"));
  static_cast<void>(kubernetes::text(pod, "metadata", "resourceVersion"));
  static_cast<void>(kubernetes::read_pod(pod, 0));
}

void exec_credential(std::string_view text) {
  try {
    kubernetes::parse_exec_credential(std::string(text),
                                      "client.authentication.k8s.io/v1");
  } catch (const kubernetes::BadCredential&) {
  }
  static_cast<void>(kubernetes::parse_timestamp(std::string(text)));
}

void base64(std::string_view text) {
  if (const auto bytes = kubernetes::decode_base64(text))
    require(kubernetes::decode_base64(kubernetes::encode_base64(*bytes)) == bytes);
}

void slurm_rows(std::string_view text) {
  for (const auto& row : slurm::parse_rows(std::string(text)))
    static_cast<void>(slurm::end_of(row, 0, false));
  static_cast<void>(slurm::parse_accounting(std::string(text)));
  static_cast<void>(slurm::parse_submitted(std::string(text)));
}

constexpr void (*speakers[])(std::string_view) = {
  docker_stream, crash_lines, pod_event, exec_credential, base64, slurm_rows};

} // namespace
} // namespace fiber::backends

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fiber::backends::speakers;
  if (size > 0)
    speakers[data[0] % std::size(speakers)](
      {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
