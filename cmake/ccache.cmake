# Compiles through ccache where it is installed, unless the caller chose a launcher.
find_program(SERVECAST_CCACHE ccache)
if(SERVECAST_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SERVECAST_CCACHE})
endif()
