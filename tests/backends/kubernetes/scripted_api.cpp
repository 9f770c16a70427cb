// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/kubernetes/scripted_api.hpp"

#include <algorithm>

#include "backends/kubernetes/manifests.hpp"
#include "tests/backends/contract.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds
  glance(20); // Interval at which a stream checks its client.

json status_object(int code, const std::string& message) {
  return {{"kind", "Status"},
          {"status", code < 300 ? "Success" : "Failure"},
          {"message", message},
          {"code", code}};
}

/// The parts of "/api/v1/namespaces/NS/KIND/NAME/log".
struct Target {
  std::string kind, name, part;
};

Target target_of(const std::string& path) {
  Target target;
  auto rest = path.substr(std::min(path.find("/namespaces/"), path.size()));
  std::vector<std::string> words;
  for (std::size_t at = 1; at < rest.size();) {
    auto slash = std::min(rest.find('/', at), rest.size());
    words.push_back(rest.substr(at, slash - at));
    at = slash + 1;
  }
  words.resize(std::max<std::size_t>(words.size(), 5));
  return {words[2], words[3], words[4]};
}

std::string verb_of(const HttpsRequest& request, const Target& target) {
  if (request.method == "POST")
    return request.query.contains("dryRun") ? "try" : "create";
  if (request.method == "PATCH")
    return "patch";
  if (request.method == "DELETE")
    return target.name.empty() ? "deletecollection" : "delete";
  if (!target.name.empty())
    return "get";
  return request.query.contains("watch") ? "watch" : "list";
}

bool selected(const json& object, const HttpsRequest& request) {
  auto found = request.query.find("labelSelector");
  auto selector = found == request.query.end() ? "" : found->second;
  while (!selector.empty()) {
    auto term = selector.substr(0, selector.find(','));
    selector.erase(0, term.size() + 1);
    auto equals = term.find('=');
    auto& labels = object["metadata"]["labels"];
    if (labels.value(term.substr(0, equals), "") != term.substr(equals + 1))
      return false;
  }
  return true;
}

} // namespace

ScriptedApi::ScriptedApi()
  : server_([this](auto& request, auto& connection) { serve(request, connection); },
            "IP:127.0.0.1,DNS:kubernetes.test") {}

ScriptedApi::~ScriptedApi() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  server_.stop();
}

std::string ScriptedApi::url() const {
  return "https://127.0.0.1:" + std::to_string(port());
}

Access ScriptedApi::access() const {
  Access access;
  access.endpoint.url = url();
  access.endpoint.ca_pem = server_.ca_pem();
  access.identity.token = "sesame";
  access.name_space = "lab";
  access.source = "test";
  return access;
}

// -- requests ---------------------------------------------------------------------------

void ScriptedApi::spoil(const std::string& request, Fault fault, int times) {
  std::lock_guard lock(mutex_);
  faults_[request].emplace_back(std::move(fault), times);
}

std::vector<HttpsRequest> ScriptedApi::seen(const std::string& request) const {
  std::lock_guard lock(mutex_);
  std::vector<HttpsRequest> result;
  for (auto& [name, each] : seen_)
    if (name == request)
      result.push_back(each);
  return result;
}

std::size_t ScriptedApi::wait_for(const std::string& request, std::size_t count) const {
  eventually([&] { return this->count(request) >= count; });
  return this->count(request);
}

void ScriptedApi::accept_only(const std::string& token) {
  std::lock_guard lock(mutex_);
  token_ = token;
}

void ScriptedApi::set_date(const std::string& date) {
  std::lock_guard lock(mutex_);
  date_ = date;
}

void ScriptedApi::serve(const HttpsRequest& request, HttpsConnection& connection) {
  auto target = target_of(request.path);
  auto verb = verb_of(request, target);
  auto name = verb + " " + target.kind + (target.part.empty() ? "" : "/" + target.part);
  HttpsConnection::Headers headers;
  {
    std::lock_guard lock(mutex_);
    if (!date_.empty())
      headers["Date"] = date_;
    seen_.emplace_back(name, request);
    auto shown = request.headers.find("authorization");
    if (token_ &&
        (shown == request.headers.end() || shown->second != "Bearer " + *token_)) {
      connection.reply(401, status_object(401, "Unauthorized").dump(), headers);
      return;
    }
  }
  if (misbehave(name, request, connection))
    return;
  if (verb == "watch")
    return watch(request, connection);
  if (target.part == "log")
    return log(request, connection, std::string::npos);
  auto [status, body] = answer(verb, request);
  connection.reply(status, body.dump(), headers);
}

bool ScriptedApi::misbehave(const std::string& name, const HttpsRequest& request,
                            HttpsConnection& connection) {
  Fault fault;
  {
    std::lock_guard lock(mutex_);
    auto& faults = faults_[name];
    if (faults.empty())
      return false;
    fault = faults.front().first;
    if (--faults.front().second == 0)
      faults.erase(faults.begin());
  }
  auto verb = name.substr(0, name.find(' '));
  switch (fault.kind) {
  case Fault::Kind::answer: {
    auto words = std::to_string(fault.status) + " on purpose";
    auto body = status_object(fault.status, words).dump();
    connection.reply(fault.status, fault.body.empty() ? body : fault.body, fault.headers);
    break;
  }
  case Fault::Kind::reset:
    connection.reset();
    break;
  case Fault::Kind::reset_after:
    answer(verb, request);
    connection.reset();
    break;
  case Fault::Kind::cut:
    log(request, connection, fault.bytes);
    connection.shut(); // A reset might overtake the bytes sent.
    break;
  case Fault::Kind::late: {
    auto [status, body] = answer(verb, request);
    fault.release.wait();
    connection.reply(status, body.dump());
    break;
  }
  }
  return true;
}

std::pair<int, json> ScriptedApi::answer(const std::string& verb,
                                         const HttpsRequest& request) {
  std::lock_guard lock(mutex_);
  auto [kind, name, part] = target_of(request.path);
  auto& all = objects_[kind];
  if (verb == "try")
    return {201, json::parse(request.body)};
  if (verb == "create")
    return create(kind, json::parse(request.body));
  if (verb == "delete") {
    const json wanted =
      json::parse(request.body).value("/preconditions/uid"_json_pointer, json());
    if (all.contains(name) && !wanted.is_null() && wanted != all[name]["metadata"]["uid"])
      return {409, status_object(409, "the UID in the precondition is another one")};
    return erase(kind, name);
  }
  if (verb == "patch" && all.contains(name)) {
    all[name].merge_patch(json::parse(request.body));
    return {200, all[name]};
  }
  if (verb == "get" || verb == "patch")
    return all.contains(name) ? std::pair(200, all[name])
                              : std::pair(404, status_object(404, name + " not found"));
  json items = json::array();
  for (auto& [each, object] : all)
    if (selected(object, request))
      items.push_back(object);
  if (verb == "deletecollection")
    for (auto& item : items)
      erase(kind, item["metadata"]["name"]);
  return {200,
          {{"kind", "List"},
           {"metadata", {{"resourceVersion", std::to_string(version_)}}},
           {"items", items}}};
}

std::pair<int, json> ScriptedApi::create(const std::string& kind, json object) {
  std::string name = object["metadata"]["name"];
  if (objects_[kind].contains(name))
    return {409, status_object(409, kind + " \"" + name + "\" already exists")};
  if (kind == "jobs" && refuses_ttl && object["spec"].contains("ttlSecondsAfterFinished"))
    return {400, status_object(400, "unknown field \"spec.ttlSecondsAfterFinished\"")};
  if (kind == "jobs" && drops_ttl)
    object["spec"].erase("ttlSecondsAfterFinished");
  object["metadata"]["uid"] = "uid-" + std::to_string(++uid_);
  auto& stored = objects_[kind][name] = object;
  if (kind != "pods")
    return {201, stored};
  stored["status"]["phase"] = "Pending";
  note("ADDED", stored);
  auto reply = stored;
  if (plays_kubelet)
    run_locked(name);
  return {201, reply};
}

std::pair<int, json> ScriptedApi::erase(const std::string& kind,
                                        const std::string& name) {
  auto& all = objects_[kind];
  if (!all.contains(name))
    return {404, status_object(404, kind + " \"" + name + "\" not found")};
  auto object = all[name];
  if (kind == "pods") {
    terminate(name);
    return {200, object};
  }
  all.erase(name);
  auto owned = objects_["pods"]; // A copy, because removals change it.
  for (auto& [pod, about] : owned)
    for (auto& owner : about["metadata"].value("ownerReferences", json::array()))
      if (owner["uid"] == object["metadata"]["uid"])
        terminate(pod);
  std::erase_if(objects_["secrets"], [&](const auto& secret) {
    for (auto& owner : secret.second["metadata"].value("ownerReferences", json::array()))
      if (owner["uid"] == object["metadata"]["uid"])
        return true;
    return false;
  });
  return {200, status_object(200, "")};
}

// -- streams ----------------------------------------------------------------------------

void ScriptedApi::watch(const HttpsRequest& request, HttpsConnection& connection) {
  std::uint64_t version = std::stoull(request.query.at("resourceVersion"));
  std::unique_lock lock(mutex_);
  auto began = order_;
  auto old = status_object(410, "too old resource version");
  if (version < oldest_) {
    connection.reply(410, old.dump());
    return;
  }
  connection.begin(200);
  for (;;) {
    if (stopping_ || connection.gone())
      return;
    if (muted_ > began) {
      changed_.wait_for(lock, glance);
      continue;
    }
    std::string lines;
    for (auto& event : events_)
      if (event.version > version &&
          (event.type == "BOOKMARK" || selected(event.object, request)))
        lines += json{{"type", event.type}, {"object", event.object}}.dump() + "\n";
    if (!events_.empty())
      version = std::max(version, events_.back().version);
    bool over = std::max(ended_, forgotten_) > began;
    if (over)
      lines += ended_ > forgotten_
                 ? last_words_
                 : json{{"type", "ERROR"}, {"object", old}}.dump() + "\n";
    lock.unlock();
    connection.piece(lines);
    if (over)
      connection.end();
    lock.lock();
    if (over)
      return;
    if (events_.empty() || events_.back().version <= version)
      changed_.wait_for(lock, glance);
  }
}

void ScriptedApi::log(const HttpsRequest& request, HttpsConnection& connection,
                      std::size_t most) {
  auto pod = target_of(request.path).name;
  auto since = Clock::time_point::min();
  if (auto seconds = request.query.find("sinceSeconds"); seconds != request.query.end())
    since = Clock::now() - std::chrono::seconds(std::stoi(seconds->second));
  std::unique_lock lock(mutex_);
  connection.begin(200);
  for (std::size_t next = 0, sent = 0;; ++next) {
    while (next >= logs_[pod].pieces.size()) {
      auto& pods = objects_["pods"];
      bool running =
        pods.contains(pod) && pods[pod]["status"].value("phase", "") == "Running";
      if (stopping_ || connection.gone())
        return;
      if (!running) {
        connection.end();
        return;
      }
      changed_.wait_for(lock, glance);
    }
    auto [when, text] = logs_[pod].pieces[next];
    if (when < since)
      continue;
    lock.unlock();
    connection.piece(text.substr(0, most - sent));
    sent += text.size();
    if (sent >= most)
      return;
    lock.lock();
  }
}

void ScriptedApi::end_watches(const std::string& last) {
  std::lock_guard lock(mutex_);
  last_words_ = last;
  ended_ = ++order_;
  changed_.notify_all();
}

void ScriptedApi::mute_watches() {
  std::lock_guard lock(mutex_);
  muted_ = ++order_;
}

void ScriptedApi::forget() {
  std::lock_guard lock(mutex_);
  oldest_ = ++version_;
  events_.clear();
  forgotten_ = ++order_;
  changed_.notify_all();
}

void ScriptedApi::bookmark() {
  std::lock_guard lock(mutex_);
  json pod{{"kind", "Pod"}, {"metadata", json::object()}};
  note("BOOKMARK", pod);
}

// -- the cluster ------------------------------------------------------------------------

void ScriptedApi::note(const std::string& type, json& pod) {
  pod["metadata"]["resourceVersion"] = std::to_string(++version_);
  events_.push_back({version_, type, pod});
  changed_.notify_all();
}

std::map<std::string, json> ScriptedApi::objects(const std::string& kind) const {
  std::lock_guard lock(mutex_);
  auto found = objects_.find(kind);
  return found == objects_.end() ? std::map<std::string, json>() : found->second;
}

std::string ScriptedApi::pod_of(const std::string& job) const {
  std::string name;
  eventually([&] {
    for (auto& [pod, object] : objects("pods"))
      if (object["metadata"]["annotations"].value(job_annotation, "") == job)
        name = pod;
    return !name.empty();
  });
  return name;
}

void ScriptedApi::change(const std::string& name, const json& patch) {
  std::lock_guard lock(mutex_);
  auto& pod = objects_["pods"].at(name);
  pod.merge_patch(patch);
  note("MODIFIED", pod);
}

void ScriptedApi::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto pod = objects_["pods"].extract(name);
  note("DELETED", pod.mapped());
}

void ScriptedApi::replace(const std::string& name, bool told) {
  std::lock_guard lock(mutex_);
  auto& pod = objects_["pods"].at(name);
  if (told)
    note("DELETED", pod);
  pod["metadata"]["uid"] = "uid-" + std::to_string(++uid_);
  if (told)
    note("ADDED", pod);
}

void ScriptedApi::run(const std::string& name) {
  std::lock_guard lock(mutex_);
  run_locked(name);
}

void ScriptedApi::run_locked(const std::string& name) {
  auto& pod = objects_["pods"].at(name);
  pod["status"] = {{"phase", "Running"},
                   {"containerStatuses",
                    {{{"name", "fiber"}, {"state", {{"running", json::object()}}}}}}};
  note("MODIFIED", pod);
}

void ScriptedApi::end(const std::string& name, int code) {
  std::lock_guard lock(mutex_);
  end_locked(name, code);
}

void ScriptedApi::end_locked(const std::string& name, int code) {
  auto& pod = objects_["pods"].at(name);
  pod["status"] = {
    {"phase", code == 0 ? "Succeeded" : "Failed"},
    {"containerStatuses",
     {{{"name", "fiber"}, {"state", {{"terminated", {{"exitCode", code}}}}}}}}};
  note("MODIFIED", pod);
}

void ScriptedApi::terminate(const std::string& name) {
  auto& pod = objects_["pods"].at(name);
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  note("MODIFIED", pod);
  if (!plays_kubelet)
    return;
  if (pod["status"]["phase"] == "Running")
    end_locked(name, 143);
  auto gone = objects_["pods"].extract(name);
  note("DELETED", gone.mapped());
}

void ScriptedApi::print(const std::string& pod, const std::string& text) {
  std::lock_guard lock(mutex_);
  logs_[pod].pieces.emplace_back(Clock::now(), text);
  changed_.notify_all();
}

} // namespace fiber::backends::kubernetes
