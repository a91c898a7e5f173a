# One INTERFACE target carries the flags of every target of ours; package headers stay out of the warnings.
add_library(servecast_flags INTERFACE)
target_include_directories(servecast_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(servecast_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
  $<$<BOOL:${SERVECAST_WERROR}>:-Werror>)
# No fused multiply-add behind our back: results must not depend on the compiler's target.
target_compile_options(servecast_flags INTERFACE -ffp-contract=off)
if(SERVECAST_SANITIZE)
  target_compile_options(servecast_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(servecast_flags INTERFACE -fsanitize=address,undefined)
endif()
