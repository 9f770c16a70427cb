# What makes it harder to turn a fault in memory into control of the process: fiber_hardening, an interface library
# whose flags hold in release builds. Without an effect under sanitizers, which see more.
option(FIBER_HARDEN "Harden release builds: PIE, RELRO, stack protector, FORTIFY, control-flow protection" ON)

include(CheckCXXCompilerFlag)
add_library(fiber_hardening INTERFACE)
if(FIBER_HARDEN AND NOT FIBER_SANITIZE AND NOT FIBER_BUILD_FUZZERS)
  # Level 3 also checks buffers whose size is known only at run time.
  set(fortify 2)
  if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    OR (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15))
    set(fortify 3)
  endif()
  set(flags -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify} -fstack-protector-strong)
  foreach(flag -fstack-clash-protection -fcf-protection) # Not on every processor.
    string(MAKE_C_IDENTIFIER "has${flag}" has)
    check_cxx_compiler_flag(${flag} ${has})
    if(${has})
      list(APPEND flags ${flag})
    endif()
  endforeach()
  set(release "$<CONFIG:Release,MinSizeRel>")
  # An executable that must stand at a fixed place says so by the property FIBER_NO_PIE.
  set(pie "$<AND:${release},$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,$<NOT:$<BOOL:$<TARGET_PROPERTY:FIBER_NO_PIE>>>>")
  target_compile_options(fiber_hardening INTERFACE "$<${release}:${flags}>" "$<${pie}:-fPIE>")
  if(PROJECT_IS_TOP_LEVEL) # A program of the project above gets the options of the libraries that it links.
    target_link_options(fiber_hardening INTERFACE
      "$<${release}:LINKER:-z,relro,-z,now,-z,noexecstack>" "$<${pie}:-pie>")
  endif()
endif()
