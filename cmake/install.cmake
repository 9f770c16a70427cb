# What `cmake --install` installs, in components: dev is what programs are built with, command the program `fiber`.
# Needs FIBER_INSTALL.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fiber")
install(DIRECTORY libfiber/fiber TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
install(TARGETS fiber EXPORT fiberTargets COMPONENT dev)
if(FIBER_RL)
  install(DIRECTORY rl/fiber TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.hpp")
  foreach(target IN ITEMS fiber_rl fiber_es_train fiber_poet fiber_rl_gym)
    if(TARGET ${target})
      install(TARGETS ${target} EXPORT fiberTargets COMPONENT dev)
    endif()
  endforeach()
endif()
install(EXPORT fiberTargets NAMESPACE fiber:: DESTINATION ${package_dir} COMPONENT dev)
if(TARGET fiber_ppo) # Apart, as only who asks for it needs LibTorch.
  install(TARGETS fiber_ppo EXPORT fiberPpoTargets COMPONENT dev)
  install(EXPORT fiberPpoTargets NAMESPACE fiber:: DESTINATION ${package_dir} COMPONENT dev)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fiberConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
configure_file(cmake/fiberConfig.cmake.in fiberConfig.cmake @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/fiberConfig.cmake" cmake/FindCAF.cmake cmake/FindElfutils.cmake
  "${PROJECT_BINARY_DIR}/fiberConfigVersion.cmake" DESTINATION ${package_dir} COMPONENT dev)

install(DIRECTORY deploy/kubernetes DESTINATION "${CMAKE_INSTALL_DATADIR}/fiber" COMPONENT command
  FILES_MATCHING PATTERN "*.yaml")
install(PROGRAMS deploy/image/make-image DESTINATION "${CMAKE_INSTALL_DATADIR}/fiber/image" COMPONENT command)
if(FIBER_CLI)
  install(TARGETS fiber_command RUNTIME COMPONENT command)
endif()
