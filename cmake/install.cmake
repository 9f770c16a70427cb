# What `cmake --install` installs, in components: dev is what programs are built with, command the program `fiber`.
# Needs FIBER_INSTALL.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fiber")
install(DIRECTORY base/fiber actors/fiber libfiber/fiber TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
install(TARGETS fiber EXPORT fiberTargets COMPONENT dev)
if(FIBER_RL)
  install(DIRECTORY rl/fiber TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
  foreach(target IN ITEMS fiber_rl fiber_es_train fiber_poet fiber_ppo)
    if(TARGET ${target})
      install(TARGETS ${target} EXPORT fiberTargets COMPONENT dev)
    endif()
  endforeach()
endif()
install(EXPORT fiberTargets NAMESPACE fiber:: DESTINATION ${package_dir} COMPONENT dev)
if(TARGET fiber_rl_gym) # Apart, as it needs Python's library, and programs that do not use it need none.
  install(TARGETS fiber_rl_gym EXPORT fiberGymTargets COMPONENT dev)
  install(EXPORT fiberGymTargets NAMESPACE fiber:: DESTINATION ${package_dir} COMPONENT dev)
endif()
if(TARGET fiber_ppo_torch) # Apart, as only who asks for it needs LibTorch.
  install(TARGETS fiber_ppo_torch EXPORT fiberPpoTorchTargets COMPONENT dev)
  install(EXPORT fiberPpoTorchTargets NAMESPACE fiber:: DESTINATION ${package_dir} COMPONENT dev)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fiberConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
configure_file(cmake/fiberConfig.cmake.in fiberConfig.cmake @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/fiberConfig.cmake" cmake/FindCAF.cmake cmake/FindElfutils.cmake
  cmake/FindMuJoCo.cmake
  "${PROJECT_BINARY_DIR}/fiberConfigVersion.cmake" DESTINATION ${package_dir} COMPONENT dev)

# For pkg-config. The libraries that have a file of their own there are named by Requires, the others by Libs.
set(pc_libs -lboost_serialization -lcaf_core)
cmake_path(GET CAF_core_LIBRARY PARENT_PATH caf_folder)
if(NOT caf_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES) # CAF_ROOT was set.
  list(PREPEND pc_libs "-L${caf_folder}" "-Wl,-rpath,${caf_folder}")
endif()
set(pc_requires spdlog libdw libelf openssl zlib)
if(FIBER_RING)
  list(APPEND pc_libs -lgloo)
endif()
if(FIBER_METRICS)
  list(APPEND pc_requires prometheus-cpp-pull)
endif()
if(TARGET yaml-cpp::yaml-cpp)
  list(APPEND pc_requires yaml-cpp)
endif()
list(JOIN pc_libs " " pc_libs)
list(JOIN pc_requires ", " pc_requires)
get_target_property(type fiber TYPE)
if(type STREQUAL SHARED_LIBRARY) # It knows itself what else it is linked with.
  set(pc_libs "-lboost_serialization")
  set(pc_requires "")
endif()
# The file finds its prefix from its own place, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/fiber.pc.in fiber.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/fiber.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

install(DIRECTORY deploy/kubernetes DESTINATION "${CMAKE_INSTALL_DATADIR}/fiber" COMPONENT command
  FILES_MATCHING PATTERN "*.yaml")
install(PROGRAMS deploy/image/make-image DESTINATION "${CMAKE_INSTALL_DATADIR}/fiber/image" COMPONENT command)
if(FIBER_CLI)
  install(TARGETS fiber_command RUNTIME COMPONENT command)
endif()
