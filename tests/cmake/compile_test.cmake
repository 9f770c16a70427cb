# Compiles SOURCE as a user of Fiber would. With EXPECT, passes only if that fails with a matching message.
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only -Wall -Wextra ${INCLUDE_DIRS} "${SOURCE}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(EXPECT STREQUAL "")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE} should compile:\n${output}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but should be refused with: ${EXPECT}")
elseif(NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "${SOURCE} is refused, but not with '${EXPECT}':\n${output}")
endif()
