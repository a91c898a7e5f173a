// How errors name a thread and a line.
#pragma once

#include <string>

#include "kernels/emulation/engine.hpp"

namespace servecast::kernels::emulation {

// "thread (3, 0, 0) of block (0, 1, 0): "
[[nodiscard]] std::string about(const Thread& thread);
// ", at kernel.cu:12": the file without its folders.
[[nodiscard]] std::string at(Place place);

}  // namespace servecast::kernels::emulation
