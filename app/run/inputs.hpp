// The files that a study reads, each once, however many points of its grid use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "traces/read.hpp"

namespace servecast {

struct LoadedTrace {
  std::shared_ptr<const Trace> trace;
  TraceReport report;
};

// An input file as the manifest names it.
struct InputFile {
  std::string role;  // "experiment", "trace", "tokenizer", "model", "device", "topology"
  std::filesystem::path path;
  std::uintmax_t bytes = 0;
  std::string hash;  // "fnv1a64:" and 16 hexadecimal digits
};

// FNV-1a over the file's bytes, 64 bits: tells whether an input is the same, and keeps no secret. Throws
// InputError where the file cannot be read.
[[nodiscard]] InputFile fingerprint(std::string role, const std::filesystem::path& path);

[[nodiscard]] ReadOptions read_options(const TraceChoice& choice);

class TraceCache {
 public:
  // Reads the trace unless an equal choice was read before. Throws InputError.
  const LoadedTrace& load(const TraceChoice& choice);
  [[nodiscard]] const LoadedTrace& loaded(const TraceChoice& choice) const;  // requires that it was
  [[nodiscard]] std::vector<InputFile> files() const;

 private:
  struct Entry {
    LoadedTrace loaded;
    TraceChoice choice;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace servecast
