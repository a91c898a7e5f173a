# servecast_test(NAME LABEL label DIR folder [TIMEOUT seconds] [LINK targets...])
# One executable of tests/DIR/**/*.cpp, one ctest entry a test case. Sources below a folder named `slow`
# make an executable of their own, NAME_slow, whose tests carry the label `slow` as well and may take an hour.
function(servecast_test name)
  cmake_parse_arguments(ARG "" "LABEL;DIR;TIMEOUT" "LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIR}/*.cpp)
  set(slow_sources ${sources})
  list(FILTER sources EXCLUDE REGEX "/slow/")
  list(FILTER slow_sources INCLUDE REGEX "/slow/")
  servecast_test_executable(${name} "${ARG_LABEL}" ${ARG_TIMEOUT} "${sources}" "${ARG_LINK}")
  servecast_test_executable(${name}_slow "${ARG_LABEL};slow" 3600 "${slow_sources}" "${ARG_LINK}")
endfunction()

function(servecast_test_executable name labels timeout sources link)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE test_main ${link})
  target_compile_definitions(${name} PRIVATE SERVECAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  doctest_discover_tests(${name} TEST_PREFIX "${name}: ")
  servecast_test_properties(${name} "${labels}" ${timeout})
endfunction()

# doctest_discover_tests flattens lists, so labels are set afterwards, from the list of tests it leaves to ctest.
# An entry whose name selects no test case would pass; here it fails.
function(servecast_test_properties name labels timeout)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  file(WRITE ${file} "if(${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES
    LABELS \"${labels}\"
    TIMEOUT ${timeout}
    FAIL_REGULAR_EXPRESSION \"test cases: +0 \")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()
