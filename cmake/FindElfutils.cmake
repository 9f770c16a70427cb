# elfutils ships no CMake package. Gives its libraries the names Elfutils::dw and Elfutils::elf.
find_path(Elfutils_INCLUDE_DIR elfutils/libdwfl.h)
find_library(Elfutils_dw_LIBRARY dw)
find_library(Elfutils_elf_LIBRARY elf)
if(Elfutils_INCLUDE_DIR AND EXISTS "${Elfutils_INCLUDE_DIR}/elfutils/version.h")
  file(STRINGS "${Elfutils_INCLUDE_DIR}/elfutils/version.h" elfutils_number
    REGEX "^#define _ELFUTILS_VERSION[ \t]+[0-9]+$")
  string(REGEX REPLACE "[^0-9]" "" elfutils_number "${elfutils_number}")
  set(Elfutils_VERSION "0.${elfutils_number}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Elfutils
  REQUIRED_VARS Elfutils_dw_LIBRARY Elfutils_elf_LIBRARY Elfutils_INCLUDE_DIR
  VERSION_VAR Elfutils_VERSION)
if(Elfutils_FOUND AND NOT TARGET Elfutils::dw)
  foreach(library dw elf)
    add_library(Elfutils::${library} UNKNOWN IMPORTED)
    set_target_properties(Elfutils::${library} PROPERTIES
      IMPORTED_LOCATION "${Elfutils_${library}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${Elfutils_INCLUDE_DIR}")
  endforeach()
endif()
mark_as_advanced(Elfutils_INCLUDE_DIR Elfutils_dw_LIBRARY Elfutils_elf_LIBRARY)
