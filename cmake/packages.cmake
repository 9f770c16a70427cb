# The Debian packages, which `./dev package` makes: libfiber-dev, fiber and fiber-examples. Needs FIBER_PACKAGES.
if(NOT FIBER_INSTALL OR NOT FIBER_RL OR NOT FIBER_CLI OR NOT FIBER_BUILD_EXAMPLES)
  message(FATAL_ERROR "FIBER_PACKAGES needs FIBER_INSTALL, FIBER_RL, FIBER_CLI and FIBER_BUILD_EXAMPLES")
endif()
if(BUILD_SHARED_LIBS)
  message(FATAL_ERROR "FIBER_PACKAGES: libfiber-dev has the static library; leave BUILD_SHARED_LIBS off")
endif()
find_program(HELP2MAN help2man REQUIRED) # Each of them: ./dev install-deps package
find_program(GZIP gzip REQUIRED)
set(made "${PROJECT_BINARY_DIR}/packages") # What is made for them.
set(doc "${CMAKE_INSTALL_DATADIR}/doc")
file(STRINGS /etc/os-release debian REGEX "^VERSION_ID=")
string(REGEX REPLACE "[^0-9.]" "" debian "${debian}")
set(maintainer "The authors of Fiber for C++ <fiber@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL}) # As Debian's own tools take them.
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(FIBER_PACKAGE_MAINTAINER "${maintainer}" CACHE STRING "Who made the packages, and the address for reports")

# -- the command: completions and a man page, which it writes itself ---------------------------------------

file(MAKE_DIRECTORY "${made}")
set(command "$<TARGET_FILE:fiber_command>")
add_custom_command(
  OUTPUT "${made}/fiber.bash" "${made}/_fiber" "${made}/fiber.fish" "${made}/fiber.1.gz"
  COMMAND ${command} completion bash > "${made}/fiber.bash"
  COMMAND ${command} completion zsh > "${made}/_fiber"
  COMMAND ${command} completion fish > "${made}/fiber.fish"
  COMMAND "${HELP2MAN}" --no-info "--name=starts, shows and stops programs that use Fiber"
    --output=${made}/fiber.1 ${command}
  COMMAND "${GZIP}" -9nf "${made}/fiber.1"
  DEPENDS fiber_command VERBATIM)
add_custom_target(fiber_packages # What cpack packs.
  DEPENDS "${made}/fiber.bash" "${made}/_fiber" "${made}/fiber.fish" "${made}/fiber.1.gz")
install(FILES "${made}/fiber.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME fiber
  COMPONENT command)
install(FILES "${made}/_fiber" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT command)
install(FILES "${made}/fiber.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT command)
install(FILES "${made}/fiber.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)

foreach(target IN ITEMS fiber fiber_rl fiber_es_train fiber_poet fiber_rl_gym fiber_ppo fiber_ppo_torch)
  if(TARGET ${target})
    add_dependencies(fiber_packages ${target})
  endif()
endforeach()

# -- the examples and the programs, and their sources ---------------------------------------------------------------

set(examples hello pi es_train poet pbt deep_ga cma_es map_elites ppo)
foreach(example IN LISTS examples)
  if(TARGET ${example})
    add_dependencies(fiber_packages ${example})
    install(TARGETS ${example} RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}/fiber/examples" COMPONENT examples)
  endif()
endforeach()
install(DIRECTORY examples programs DESTINATION "${doc}/fiber-examples" COMPONENT examples)

# -- all three -------------------------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/packages" CACHE PATH "Where cpack puts the packages")
set(CPACK_PACKAGE_NAME fiber)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # Each package has its own, as the first line of its description.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL dev command examples)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Built with the compiler and the libraries of one Debian, which the version names.
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~deb${debian}")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${FIBER_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP year "%Y" UTC)
file(CONFIGURE OUTPUT packages/changelog.Debian @ONLY CONTENT
[[fiber (@PROJECT_VERSION@-@CPACK_DEBIAN_PACKAGE_RELEASE@) unstable; urgency=medium

  * Made from the sources of version @PROJECT_VERSION@.
    changelog.gz in libfiber-dev says what is new.

 -- @FIBER_PACKAGE_MAINTAINER@  @changelog_date@
]])
file(CONFIGURE OUTPUT packages/copyright @ONLY CONTENT
[[Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Fiber for C++

Files: *
Copyright: @year@ the authors of Fiber for C++
License: Apache-2.0
 On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0.
]])
configure_file(CHANGELOG.md packages/changelog COPYONLY)
execute_process(COMMAND "${GZIP}" -9nkf "${made}/changelog.Debian" "${made}/changelog" COMMAND_ERROR_IS_FATAL ANY)

# fiber_package(COMPONENT NAME SECTION DESCRIPTION)
macro(fiber_package component name section description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  install(FILES "${made}/copyright" "${made}/changelog.Debian.gz" DESTINATION "${doc}/${name}" COMPONENT ${component})
endmacro()
fiber_package(dev libfiber-dev libdevel "distributed computing for C++ - files to build programs
Fiber runs functions on pools of worker processes, containers, pods or Slurm
jobs and finishes every task, even when workers die. Its interface follows
Python's multiprocessing.
.
This package has the headers, the static libraries, and the files for CMake
and pkg-config.")
fiber_package(command fiber utils "distributed computing for C++ - the command
Fiber runs functions on pools of worker processes, containers, pods or Slurm
jobs and finishes every task, even when workers die.
.
This package has the command that starts, shows and stops programs that use
Fiber, and explains what keeps them from running.")
fiber_package(examples fiber-examples misc "distributed computing for C++ - examples
Fiber runs functions on pools of worker processes, containers, pods or Slurm
jobs and finishes every task, even when workers die.
.
This package has programs that train by evolution strategies, POET,
population-based training, genetic algorithms, CMA-ES and PPO, and their
sources.")
install(FILES "${made}/changelog.gz" DESTINATION "${doc}/libfiber-dev" COMPONENT dev)
install(FILES "${PROJECT_BINARY_DIR}/fiber.cdx.json" DESTINATION "${doc}/libfiber-dev" COMPONENT dev)

# What a program needs to be linked with the static library: the group `use`. Boost's version is part of what
# travels between processes and of the library's name.
file(STRINGS packages.txt needed REGEX "^use +")
list(TRANSFORM needed REPLACE "^use +" "")
list(APPEND needed "libboost-serialization${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev")
list(JOIN needed ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
# Each of them: a dependency brings pkgconf, and "cmake | pkgconf" would be content with that.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "g++, cmake, pkgconf")
set(optional fiber)
if(TARGET fiber_rl_gym)
  list(APPEND optional libpython3-dev)
endif()
if(TARGET fiber_ppo_torch)
  list(APPEND optional libtorch-dev)
endif()
list(JOIN optional ", " CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS)
# libcurl is no library that they link: see backends/http/curl.hpp.
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS libcurl4)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "python3") # For make-image.
set(CPACK_DEBIAN_EXAMPLES_PACKAGE_RECOMMENDS "gnuplot-nox, libcurl4") # They draw their curves with gnuplot.

include(CPack)
