# The README's first program must be FILE, licence line aside.
file(READ "${README}" readme)
file(READ "${FILE}" program)
string(REGEX REPLACE "^// SPDX[^\n]*\n" "" program "${program}")
string(FIND "${readme}" "```cpp\n${program}```\n" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${README} does not show ${FILE} as it is; copy it there")
endif()
