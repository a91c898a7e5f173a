// One flat JSON object after the other, field by field, as strictly as a CSV row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/time.hpp"
#include "sim/units.hpp"
#include "traces/byte_source.hpp"
#include "traces/trace.hpp"

namespace servecast {

class JsonRecords {
 public:
  explicit JsonRecords(BufferedInput& input);
  ~JsonRecords();

  // Moves to the next object; false at the end. Throws InputError where it is not valid JSON, or no object.
  bool next();
  // Where the object starts.
  [[nodiscard]] long line() const;

  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool has(std::string_view key) const;

  // Each throws InputError naming the field where it is absent or not what it should be.
  [[nodiscard]] Tokens tokens(std::string_view key) const;
  [[nodiscard]] SimTime instant(std::string_view key, int digits) const;  // in units of 10^-digits s
  [[nodiscard]] std::uint32_t id(std::string_view key) const;
  // An array of block ids; replaces `runs`.
  void blocks(std::string_view key, std::vector<BlockRun>& runs) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace servecast
