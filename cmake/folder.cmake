# servecast_folder(NAME [LINK targets...] [PRIVATE targets...])
# One static library `servecast_NAME` from NAME/**/*.cpp. LINK is what its headers may include, PRIVATE what only its .cpp see.
function(servecast_folder name)
  cmake_parse_arguments(ARG "" "" "LINK;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  add_library(servecast_${name} STATIC ${sources})
  target_link_libraries(servecast_${name} PUBLIC servecast_flags ${ARG_LINK} PRIVATE ${ARG_PRIVATE})
endfunction()
