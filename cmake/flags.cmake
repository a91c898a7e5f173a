# One INTERFACE target carries the flags of every target of ours; package headers stay out of the warnings.
add_library(servecast_flags INTERFACE)
target_include_directories(servecast_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(servecast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
  $<$<BOOL:${SERVECAST_WERROR}>:-Werror>)
# GCC 12 sees overlapping copies in `"x" + std::to_string(n)` (its bug 105329); later versions do not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(servecast_flags INTERFACE -Wno-restrict)
endif()
# No fused multiply-add behind our back: results must not depend on the compiler's target.
target_compile_options(servecast_flags INTERFACE -ffp-contract=off)

if(SERVECAST_SANITIZE)
  # float-cast-overflow is not part of `undefined`, and a double too large for an integer is what bad input makes.
  set(sanitizers -fsanitize=address,undefined,float-cast-overflow)
  target_compile_options(servecast_flags INTERFACE ${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(servecast_flags INTERFACE ${sanitizers})
  target_compile_definitions(servecast_flags INTERFACE _GLIBCXX_ASSERTIONS)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(servecast_flags INTERFACE -fsanitize=fuzzer-no-link)  # libFuzzer sees which code an input reaches
  endif()
endif()

if(SERVECAST_TIDY)
  find_program(SERVECAST_CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${SERVECAST_CLANG_TIDY} --quiet)
  # The hash stands in every command line, so that a change of the configuration checks every file again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.clang-tidy)
  file(SHA256 ${PROJECT_SOURCE_DIR}/.clang-tidy tidy_hash)
  target_compile_definitions(servecast_flags INTERFACE SERVECAST_TIDY_CONFIGURATION=0x${tidy_hash})
endif()
