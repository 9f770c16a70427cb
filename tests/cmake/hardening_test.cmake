# Release builds have the protections that docs/concepts/security.md lists, and a debug build has none of the flags:
#   cmake -DCOMPILER=c++ -DBUILD=folder -P hardening_test.cmake

function(build config)
  execute_process(COMMAND ${CMAKE_COMMAND} --fresh -S "${CMAKE_CURRENT_LIST_DIR}/hardening" -B "${BUILD}/${config}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${config}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build "${BUILD}/${config}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND readelf --wide -h -l -d -s -n "${BUILD}/${config}/hardened"
    OUTPUT_VARIABLE told ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  set(told "${told}" PARENT_SCOPE)
endfunction()

build(Release)
foreach(sign "Type: +DYN" "GNU_RELRO" "BIND_NOW|FLAGS_1.*NOW" "GNU_STACK [^\n]* RW " "__stack_chk_fail" "__strcpy_chk")
  if(NOT told MATCHES "${sign}")
    message(SEND_ERROR "a release build shows no sign of: ${sign}\n${told}")
  endif()
endforeach()
build(Debug)
if(told MATCHES "__strcpy_chk")
  message(SEND_ERROR "a debug build has the flags too")
endif()
# A program that smashes its stack does not live on.
string(REPEAT "x" 200 long)
execute_process(COMMAND "${BUILD}/Release/hardened" "${long}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result EQUAL 0)
  message(SEND_ERROR "a buffer has overflowed, and the program went on")
endif()
