// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

namespace fiber::backends::http {

/// Functions of libcurl by their names there, without "curl_".
struct Curl {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_pause) easy_pause;
  decltype(&curl_easy_recv) easy_recv;
  decltype(&curl_easy_send) easy_send;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_getdate) getdate;
  decltype(&curl_global_init) global_init;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

/// Returns libcurl, which the first call loads and initializes. It is not linked, because
/// it brings 26 libraries, which cost each process 5 ms, and workers speak no HTTP.
/// Throws EngineError if it can't be loaded; the next call tries again.
const Curl& curl();

} // namespace fiber::backends::http
