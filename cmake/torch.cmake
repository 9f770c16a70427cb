# Finds LibTorch: sets TORCH_LIBRARIES if it is installed and this build can use it. It is not built with sanitizers;
# clang refuses the headers of LibTorch 1.13 as C++20.
set(TORCH_LIBRARIES "")
if(FIBER_TORCH AND NOT FIBER_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  block(PROPAGATE TORCH_LIBRARIES) # What else its package sets is not for others.
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
    find_package(Torch QUIET)
  endblock()
endif()
