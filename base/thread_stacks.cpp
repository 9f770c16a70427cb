// SPDX-License-Identifier: Apache-2.0
#include "base/thread_stacks.hpp"

#include <cstddef>

#include <pthread.h>
#include <sys/resource.h>

namespace fiber {

void enlarge_thread_stacks() {
#ifdef __GLIBC__
  constexpr std::size_t wanted = std::size_t{8} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
    return;
  pthread_attr_t defaults;
  if (::pthread_getattr_default_np(&defaults) != 0)
    return;
  std::size_t size = 0;
  if (::pthread_attr_getstacksize(&defaults, &size) == 0 && size < wanted &&
      ::pthread_attr_setstacksize(&defaults, wanted) == 0)
    ::pthread_setattr_default_np(&defaults);
  ::pthread_attr_destroy(&defaults);
#endif
}

} // namespace fiber
