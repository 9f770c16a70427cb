# What find_package(fiber CONFIG) reads: the libraries that fiber::fiber is linked with, then the target itself.
include(CMakeFindDependencyMacro)
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}") # For our Find*.cmake.
find_dependency(CAF 0.17.6 COMPONENTS core)
find_dependency(Boost 1.74 CONFIG COMPONENTS serialization)
find_dependency(CURL 7.88)
find_dependency(Elfutils 0.188)
find_dependency(OpenSSL 3.0)
find_dependency(spdlog)
find_dependency(Threads)
find_dependency(yaml-cpp)
find_dependency(ZLIB 1.2.9)
list(POP_FRONT CMAKE_MODULE_PATH)
include("${CMAKE_CURRENT_LIST_DIR}/fiberTargets.cmake")
