# Debian's CAF 0.17 ships no CMake package. Expose it under the target names that
# CAF's own package uses since 0.18, so that an upgrade touches only this file.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_number
    REGEX "^#define CAF_VERSION [0-9]+$")
  string(REGEX REPLACE "[^0-9]" "" caf_number "${caf_number}") # major * 10000 + minor * 100 + patch
  math(EXPR caf_major "${caf_number} / 10000")
  math(EXPR caf_minor "${caf_number} / 100 % 100")
  math(EXPR caf_patch "${caf_number} % 100")
  set(CAF_VERSION "${caf_major}.${caf_minor}.${caf_patch}")
endif()
include(FindPackageHandleStandardArgs)
foreach(component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${component}_LIBRARY caf_${component})
  if(CAF_INCLUDE_DIR AND CAF_${component}_LIBRARY)
    set(CAF_${component}_FOUND TRUE)
    if(NOT TARGET CAF::${component})
      add_library(CAF::${component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${component} PROPERTIES
        IMPORTED_LOCATION "${CAF_${component}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
    endif()
  endif()
endforeach()
find_package_handle_standard_args(CAF REQUIRED_VARS CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION HANDLE_COMPONENTS)
mark_as_advanced(CAF_INCLUDE_DIR CAF_core_LIBRARY)
