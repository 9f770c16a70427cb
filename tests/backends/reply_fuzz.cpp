// SPDX-License-Identifier: Apache-2.0
// The first byte chooses who speaks: an engine, a cluster, or the output of a job. What
// it says is read to the end, or refused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/docker/engine.hpp"
#include "backends/http/easy.hpp"
#include "backends/http/web_socket.hpp"
#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/exec_credential.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/slurm/job_rows.hpp"
#include "base/terminal_text.hpp"
#include "tests/fuzz/target.hpp"

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

// Each reads what one speaker says, and returns whether it was understood.

bool docker_stream(std::string_view text) {
  docker::StreamDecoder decoder;
  std::size_t out = 0;
  in_pieces(text, [&](std::string_view part) {
    decoder.feed(part, [&](std::string_view bytes) { out += bytes.size(); });
  });
  require(out <= text.size());
  return out > 0;
}

bool crash_lines(std::string_view text) {
  CrashLineFilter filter;
  std::string out;
  const auto keep = [&](std::string_view part) { out += part; };
  in_pieces(text, [&](std::string_view part) { filter.pass(part, keep); });
  filter.end(keep);
  require(out.size() <= text.size());
  return out.size() + 1 < text.size();
}

/// The lines of a watch, and the pods in them.
bool watch_stream(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::size_t events = 0;
  for (std::string line; std::getline(stream, line);) {
    const auto event = kubernetes::parse_reply(line);
    const auto& pod = kubernetes::part(event, "object");
    events += kubernetes::text(event, "type").empty() ? 0 : 1;
    static_cast<void>(kubernetes::text(pod, "metadata", "resourceVersion"));
    static_cast<void>(kubernetes::read_pod(pod, 0));
  }
  return events > 0;
}

bool exec_credential(std::string_view text) {
  static_cast<void>(kubernetes::parse_timestamp(std::string(text)));
  try {
    kubernetes::parse_exec_credential(std::string(text),
                                      "client.authentication.k8s.io/v1");
    return true;
  } catch (const kubernetes::BadCredential&) {
    return false;
  }
}

bool base64(std::string_view text) {
  const auto bytes = kubernetes::decode_base64(text);
  if (bytes)
    require(kubernetes::decode_base64(kubernetes::encode_base64(*bytes)) == bytes);
  return bytes.has_value();
}

bool slurm_rows(std::string_view text) {
  const auto rows = slurm::parse_rows(std::string(text));
  for (const auto& row : rows)
    static_cast<void>(slurm::end_of(row, 0, false));
  static_cast<void>(slurm::parse_accounting(std::string(text)));
  return !rows.empty() || slurm::parse_submitted(std::string(text)).has_value();
}

/// The head of an answer with which a connection becomes a stream.
bool http_head(std::string_view text) {
  static_cast<void>(http::content_length(text));
  return http::status_of(text) > 0;
}

/// The frames of a program in a pod.
bool web_socket(std::string_view text) {
  http::WebSocketReader reader;
  std::size_t messages = 0, bytes = 0;
  bool broken = false;
  in_pieces(text, [&](std::string_view part) {
    if (broken)
      return;
    const auto problem =
      reader.feed(part, [&](http::WebSocketKind, std::string_view message) {
        ++messages;
        bytes += message.size();
      });
    broken = !problem.empty();
  });
  require(bytes <= text.size());
  return messages > 0;
}

/// Whether a terminal only shows it: the only orders are tabs and colours.
bool only_shows(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    if (letter == 0x1b) {
      const auto end = text.find_first_not_of("0123456789;:", i + 2);
      if (text.substr(i + 1, 1) != "[" || end == text.npos || text[end] != 'm')
        return false;
    } else if ((letter < ' ' && letter != '\t') || letter == 0x7f) {
      return false;
    }
  }
  return true;
}

/// What a terminal and a log show of a job's words.
bool terminal_text(std::string_view text) {
  require(only_shows(for_terminal(text)));
  std::istringstream record(for_log(text));
  std::string line;
  for (bool first = true; std::getline(record, line); first = false)
    require(only_shows(line) && (first || line.starts_with(' ')));
  return !text.empty();
}

struct Speaker {
  bool (*read)(std::string_view text);
  std::vector<std::string> good;
};

const std::vector<Speaker>& speakers() {
  using namespace std::string_literals;
  static const std::vector<Speaker> all{
    {docker_stream,
     {"\7\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err"s, "\1\1\0\0\0\0\0\0\1x"s}},
    {crash_lines,
     {"\3some output"s + std::string(crash_mark) + "signal=11 end\nmore\n",
      "\377"s + std::string(crash_mark) + "signal=6 end\n"}},
    {watch_stream,
     {R"({"type": "ADDED", "object": {"metadata": {"name": "p", "resourceVersion": "7"}, "status": {"phase": "Running"}}})",
      R"({"type":"MODIFIED","object":{"metadata":{"name":"p","deletionTimestamp":"x"},)"
      R"("status":{"phase":"Failed","reason":"Evicted","containerStatuses":[{"name":)"
      R"("fiber","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}})"
      "\n"
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}})",
      R"({"type":"ERROR","object":{"code":410}})"}},
    {exec_credential,
     {R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
      R"("status":{"token":"t","expirationTimestamp":"2026-01-31T12:00:00.5+02:00"}})"}},
    {base64, {"aGVsbG8=", "AAEC/w==", ""}},
    {slurm_rows,
     {"1|8|CANCELLED|15|node-4|None|fiber-abc.1|\n"
      "1|0|FAILED|10752|node-1|NonZeroExitCode|fiber-abc.1|\n",
      "7|2|FAILED|7:0|node-2|NonZeroExitCode|fiber-abc.2|\n",
      "20|0|PENDING|0||PartitionDown|fiber-0123456789abcdef-0123456789.1234|\n"}},
    {http_head,
     {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
      "HTTP/1.1 404 Not Found\r\nContent-Length: 40\r\n\r\n"}},
    {web_socket,
     {"\4\x82\6\1hello\x02\2\1a\x89\4ping\x80\1b"s,
      "\xff\x82\x7e\0\x80"s + std::string(128, 'x') + "\x88\2\3\xe8"}},
    {terminal_text,
     {"words\tand \x1b[31mcolours\x1b[0m", "\x1b]52;c;eA==\a\r\n[driver] forged",
      "\xc3\xa4 \xc2\x9b 31m \xff"}}};
  return all;
}

} // namespace
} // namespace fiber::backends

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto& speakers = fiber::backends::speakers();
  if (size > 0)
    fiber::fuzz::taken +=
      speakers[data[0] % speakers.size()].read(fiber::fuzz::text_of(data + 1, size - 1));
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  std::vector<std::string> all;
  char number = 0;
  for (const auto& speaker : backends::speakers()) {
    for (const auto& text : speaker.good)
      all.push_back(number + text);
    ++number;
  }
  return all;
}
