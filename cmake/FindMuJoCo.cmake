# Gives MuJoCo the name MuJoCo::MuJoCo. With FIBER_MUJOCO_ROOT it is that of a folder with include/mujoco and
# libmujoco.so*, as the Python package mujoco has them, else the system's. Debian's own package file for CMake names a
# folder that is not there.
if(FIBER_MUJOCO_ROOT)
  # A Python package has only libmujoco.so.X.Y.Z, for which find_library() does not look.
  file(GLOB mujoco_libraries LIST_DIRECTORIES FALSE
    "${FIBER_MUJOCO_ROOT}/libmujoco.so*" "${FIBER_MUJOCO_ROOT}/lib/libmujoco.so*")
  list(SUBLIST mujoco_libraries 0 1 MuJoCo_LIBRARY) # The first, if there is one.
  find_path(MuJoCo_ROOT_INCLUDE_DIR mujoco/mujoco.h PATHS "${FIBER_MUJOCO_ROOT}/include" NO_DEFAULT_PATH NO_CACHE)
  set(MuJoCo_INCLUDE_DIR "${MuJoCo_ROOT_INCLUDE_DIR}")
else()
  find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h)
  find_library(MuJoCo_LIBRARY mujoco)
endif()
if(MuJoCo_INCLUDE_DIR)
  file(STRINGS "${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h" mujoco_number REGEX "^#define mjVERSION_HEADER +[0-9]+$")
  string(REGEX REPLACE "[^0-9]" "" mujoco_number "${mujoco_number}")
  if(mujoco_number LESS 1000) # 337 is 3.3.7, 3017000 is 3.17.0.
    string(REGEX REPLACE "(.)(.)(.)" "\\1.\\2.\\3" MuJoCo_VERSION "${mujoco_number}")
  else()
    math(EXPR mujoco_major "${mujoco_number} / 1000000")
    math(EXPR mujoco_minor "${mujoco_number} / 1000 % 1000")
    math(EXPR mujoco_patch "${mujoco_number} % 1000")
    set(MuJoCo_VERSION "${mujoco_major}.${mujoco_minor}.${mujoco_patch}")
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo
  REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR VERSION_VAR MuJoCo_VERSION
  REASON_FAILURE_MESSAGE "Debian: libmujoco-dev, or -DFIBER_MUJOCO_ROOT=FOLDER with include/mujoco and libmujoco.so*")
if(MuJoCo_FOUND AND NOT TARGET MuJoCo::MuJoCo)
  add_library(MuJoCo::MuJoCo UNKNOWN IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES
    IMPORTED_LOCATION "${MuJoCo_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MuJoCo_INCLUDE_DIR}")
endif()
mark_as_advanced(MuJoCo_INCLUDE_DIR MuJoCo_LIBRARY)
