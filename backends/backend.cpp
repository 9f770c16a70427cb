// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace fiber::backends {

SharedPage::SharedPage(UniqueFd fd, std::size_t size) : fd_(std::move(fd)), size_(size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "map shared page");
  data_ = static_cast<std::byte*>(at);
}

std::shared_ptr<SharedPage> SharedPage::create(std::size_t size) {
  // Sealed, because a process that uses a page which another one has cut off is killed.
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  UniqueFd fd(::memfd_create("fiber-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0)
    throw std::system_error(errno, std::generic_category(), "make shared page");
  return std::make_shared<SharedPage>(std::move(fd), size);
}

SharedPage::~SharedPage() {
  ::munmap(data_, size_);
}

EngineError::EngineError(std::string operation, int status, std::string detail)
  : std::runtime_error(operation + ": " + detail), operation_(std::move(operation)),
    status_(status), detail_(std::move(detail)) {}

SettingError::SettingError(std::string key_, std::string place_, std::string valid_,
                           std::string problem_)
  : std::runtime_error(place_ + ": " + key_ + ": " + problem_ + "; valid: " + valid_),
    key(std::move(key_)), place(std::move(place_)), valid(std::move(valid_)),
    problem(std::move(problem_)) {}

} // namespace fiber::backends
