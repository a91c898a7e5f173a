// What a device refuses before a kernel starts.
#pragma once

#include "kernels/emulation/emulator.hpp"

namespace servecast::kernels::emulation {

// Throws Error.
void check_launch(const Options& options, const LaunchShape& shape);

}  // namespace servecast::kernels::emulation
