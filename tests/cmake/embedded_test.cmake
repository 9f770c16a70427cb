# Configures tests/embedded, compiles its own program there, and looks at what would be linked and installed. The
# library itself is not built again for it.
foreach(name IN ITEMS SOURCE BUILD BY COMPILER LAUNCHER)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "embedded_test.cmake needs -D${name}=...")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${result}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE "${BUILD}")
run(${CMAKE_COMMAND} -G Ninja -S "${SOURCE}/tests/embedded" -B "${BUILD}" "-DFIBER_SOURCE=${SOURCE}" "-DFIBER_BY=${BY}"
  -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
  --log-level=WARNING)
file(STRINGS "${BUILD}/build.ninja" lines)

# The program of the project above is linked with its own options and Fiber's build id, nothing else.
set(inside OFF)
foreach(line IN LISTS lines)
  if(line MATCHES "^build ")
    set(inside OFF)
    if(line MATCHES "^build embedded(_rl)?: ")
      set(inside ON)
    endif()
  elseif(inside AND line MATCHES "^ +LINK_FLAGS = (.*)")
    list(APPEND flags "${CMAKE_MATCH_1}")
  endif()
endforeach()
foreach(flag IN LISTS flags)
  string(REGEX REPLACE "-Wl,--build-id|-Wl,--undefined=fiber_rl_make_gym|-rdynamic" "" rest "${flag}")
  string(STRIP "${rest}" rest)
  if(rest)
    message(FATAL_ERROR "Fiber links the program of the project above with: ${rest}")
  endif()
endforeach()
if(NOT flags)
  message(FATAL_ERROR "no LINK_FLAGS of embedded in ${BUILD}/build.ninja, where -Wl,--build-id must be")
endif()

# Nothing but what the program itself needs is built for it, and nothing of ours is installed.
execute_process(COMMAND ninja -C "${BUILD}" -n -v OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)
foreach(part IN ITEMS fiber_rl fiber_command examples/)
  if(plan MATCHES "${part}")
    message(FATAL_ERROR "the project above builds ${part}, which it does not use")
  endif()
endforeach()
cmake_policy(SET CMP0009 NEW)
file(GLOB_RECURSE scripts "${BUILD}/cmake_install.cmake")
list(REMOVE_ITEM scripts "${BUILD}/cmake_install.cmake") # The program's own.
foreach(script IN LISTS scripts)
  file(STRINGS "${script}" installs REGEX "file\\(INSTALL")
  if(installs)
    message(FATAL_ERROR "${script} installs parts of Fiber: ${installs}")
  endif()
endforeach()

if(BY STREQUAL "add_subdirectory") # The same target either way.
  run(${CMAKE_COMMAND} --build "${BUILD}" --target CMakeFiles/embedded.dir/main.cpp.o)
endif()
