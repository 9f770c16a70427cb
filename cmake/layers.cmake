# A layer is a library that sees its own folder and those of the layers below it, and nothing else: a wrong
# include does not compile.

# fiber_view(NAME folder...): an include folder, build/views/NAME, with a link to each of these folders, so that
# "wire/frame.hpp" is found and "actors/pool/pool_actor.hpp" is not. Public headers are included as "fiber/...", whatever
# layer they belong to.
function(fiber_view name)
  set(view "${PROJECT_BINARY_DIR}/views/${name}")
  foreach(path IN LISTS ARGN)
    string(REGEX REPLACE "^[a-z]+/fiber$" "fiber" link "${path}")
    cmake_path(GET link PARENT_PATH folder)
    file(MAKE_DIRECTORY "${view}/${folder}")
    if(IS_DIRECTORY "${view}/${link}" AND NOT IS_SYMLINK "${view}/${link}")
      file(REMOVE_RECURSE "${view}/${link}") # An older build has a folder of links there, which no link can replace.
    endif()
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${path}" "${view}/${link}" SYMBOLIC)
  endforeach()
endfunction()

# fiber_unity(TARGET [MAX]): with FIBER_UNITY the sources of the target are compiled as one unit, or as units of at most
# MAX files.
function(fiber_unity target)
  set(max 0)
  if(ARGC GREATER 1)
    set(max ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FIBER_UNITY} UNITY_BUILD_BATCH_SIZE ${max})
  if(FIBER_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # It takes the files of a unit for headers, and would collect garbage several times in a unit of that size.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=ggc-min-heapsize=600000)
    if(FIBER_PACKAGES) # Inlines as much as in small units, for a fifth more time: 1.1 x the messages per second.
      target_compile_options(${target} PRIVATE --param=large-unit-insns=1000000)
    endif()
  endif()
endfunction()

# fiber_layer(NAME HEADERS folder... SOURCES a.cpp ... [ABOVE layer...] [LIBS lib...])
#
# HEADERS  what it shows, from the root of the project: its own folder, as a rule.
# ABOVE    the layers that it may use.
# LIBS     libraries of the system that it, and whatever is above it, needs.
function(fiber_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;ABOVE;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fiber_layer(${name}): ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  fiber_view(${name} ${arg_HEADERS})
  add_library(${name} OBJECT ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  fiber_unity(${name})
  target_include_directories(${name} PUBLIC "${PROJECT_BINARY_DIR}/views/${name}")
  target_link_libraries(${name} PUBLIC ${arg_ABOVE} ${arg_LIBS} PRIVATE fiber_build)
  foreach(view IN LISTS name arg_ABOVE) # Debug information and __FILE__ name the files themselves.
    target_compile_options(${name} PUBLIC
      "-ffile-prefix-map=${PROJECT_BINARY_DIR}/views/${view}/=${PROJECT_SOURCE_DIR}/")
  endforeach()
endfunction()

# The include folders of the public headers, for whoever sees no layer: users, tests, the command.
set(fiber_public_views "")
foreach(layer base actors libfiber)
  fiber_view(public/${layer} ${layer}/fiber)
  list(APPEND fiber_public_views "${PROJECT_BINARY_DIR}/views/public/${layer}")
endforeach()
