// SPDX-License-Identifier: Apache-2.0
#include "backends/http/curl.hpp"

#include <dlfcn.h>

#include <string>

#include "backends/backend.hpp"

namespace fiber::backends::http {

namespace {

constexpr auto file_name = "libcurl.so.4";

// Tells the tools that pack programs what ldd does not see: the ELF note of
// https://uapi-group.org/specifications/specs/elf_dlopen_metadata
asm(R"(
.pushsection .note.dlopen, "a", %note
.balign 4
.long 2f - 1f
.long 4f - 3f
.long 0x407c0c0a
1: .asciz "FDO"
2: .balign 4
3: .asciz "[{\"feature\":\"http\",\"description\":\"Docker, Podman and Kubernetes\",\"priority\":\"recommended\",\"soname\":[\"libcurl.so.4\"]}]"
4: .balign 4
.popsection
)");

[[noreturn]] void give_up(const std::string& problem) {
  throw EngineError("load libcurl, by which Docker and Kubernetes are reached", 0,
                    problem + "; install it (Debian: libcurl4)");
}

std::string last_error() {
  const char* error = ::dlerror();
  return error ? error : "unknown reason";
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function)
    give_up(last_error());
}

/// The library stays loaded, as its threads and handlers at exit need it.
Curl load() {
  void* library = ::dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    give_up(last_error());
  Curl curl{};
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_pause", curl.easy_pause);
  find(library, "curl_easy_recv", curl.easy_recv);
  find(library, "curl_easy_send", curl.easy_send);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  find(library, "curl_getdate", curl.getdate);
  find(library, "curl_global_init", curl.global_init);
  find(library, "curl_multi_add_handle", curl.multi_add_handle);
  find(library, "curl_multi_cleanup", curl.multi_cleanup);
  find(library, "curl_multi_info_read", curl.multi_info_read);
  find(library, "curl_multi_init", curl.multi_init);
  find(library, "curl_multi_remove_handle", curl.multi_remove_handle);
  find(library, "curl_multi_setopt", curl.multi_setopt);
  find(library, "curl_multi_socket_action", curl.multi_socket_action);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);
  if (auto result = curl.global_init(CURL_GLOBAL_DEFAULT); result != CURLE_OK)
    give_up(curl.easy_strerror(result));
  return curl;
}

} // namespace

const Curl& curl() {
  static const Curl loaded = load();
  return loaded;
}

} // namespace fiber::backends::http
