include(CMakeFindDependencyMacro)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}") # For FindCAF.cmake.
find_dependency(CAF COMPONENTS core)
find_dependency(Boost COMPONENTS serialization)
find_dependency(OpenSSL)
find_dependency(spdlog)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/fiberTargets.cmake")
