#include "tests/fuzz/traces/fuzz_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return servecast::fuzz_reader("burstgpt", data, size);
}
