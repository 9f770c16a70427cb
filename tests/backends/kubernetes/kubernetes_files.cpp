// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/kubernetes/kubernetes_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fiber::backends::kubernetes {

KubernetesFiles::KubernetesFiles() {
  std::string name = testing::TempDir() + "fiber_kubernetes_XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = std::filesystem::canonical(name);
  for (const char* variable :
       {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"})
    set(variable, "");
}

KubernetesFiles::~KubernetesFiles() {
  for (const auto& [name, value] : before_)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string KubernetesFiles::write(const std::string& name, const std::string& text) {
  auto file = path(name);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream(file + ".new", std::ios::binary) << text;
  std::filesystem::rename(file + ".new", file);
  return file;
}

std::string KubernetesFiles::write_script(const std::string& name,
                                          const std::string& body) {
  auto file = write(name, "#!/bin/sh\n" + body);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

void KubernetesFiles::set(const std::string& name, const std::string& value) {
  const char* now = std::getenv(name.c_str());
  before_.try_emplace(name, now ? std::optional<std::string>(now) : std::nullopt);
  ::setenv(name.c_str(), value.c_str(), 1);
}

Access KubernetesFiles::read(const std::string& text, KubeconfigOptions options) {
  if (options.files.empty())
    options.files = write("config", text);
  return from_kubeconfig(options);
}

std::string KubernetesFiles::config(const std::string& user, const std::string& cluster) {
  return "current-context: test\n"
         "contexts:\n"
         "- name: test\n"
         "  context: {user: me, cluster: here}\n"
         "users:\n"
         "- name: me\n"
         "  user:\n" +
         user +
         "clusters:\n"
         "- name: here\n"
         "  cluster:\n"
         "    server: https://10.0.0.1:6443/\n" +
         cluster;
}

AccessError KubernetesFiles::error_of(const std::string& text,
                                      KubeconfigOptions options) {
  try {
    read(text, std::move(options));
  } catch (const AccessError& error) {
    return error;
  }
  ADD_FAILURE() << "it was taken";
  return {"", "", "", ""};
}

} // namespace fiber::backends::kubernetes
