// What Linux tells of the machine; unknown is empty, or 0.
#pragma once

#include <cstdint>
#include <string>

namespace servecast::kernels::cpu {

[[nodiscard]] std::string processor_name();
[[nodiscard]] std::int64_t memory_bytes();
[[nodiscard]] std::int64_t l2_bytes();

}  // namespace servecast::kernels::cpu
