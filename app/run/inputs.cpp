#include "app/run/inputs.hpp"

#include <array>
#include <fmt/format.h>

#include "sim/error.hpp"
#include "traces/byte_source.hpp"

namespace servecast {
namespace {

std::string key_of(const TraceChoice& choice) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", choice.path.string(), choice.format.value_or(""), choice.sort,
                     choice.characters_per_token.value_or(0), choice.tokenizer.value_or("").string());
}

}  // namespace

InputFile fingerprint(std::string role, const std::filesystem::path& path) {
  InputFile file{std::move(role), path, 0, {}};
  const auto source = open_file(path.string());
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  std::array<char, 65536> buffer;
  while (const std::size_t size = source->read(buffer.data(), buffer.size())) {
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(buffer[i])) * 0x100000001b3ULL;
    file.bytes += size;
  }
  file.hash = fmt::format("fnv1a64:{:016x}", hash);
  return file;
}

ReadOptions read_options(const TraceChoice& choice) {
  ReadOptions options;
  options.format = choice.format.value_or("");
  options.sort = choice.sort;
  if (choice.tokenizer) {
    if (choice.tokenizer->extension() == ".json") {
      options.tokenizer = HuggingFaceTokenizer{choice.tokenizer->string()};
    } else {
      options.tokenizer = SentencePieceModel{choice.tokenizer->string()};
    }
  } else if (choice.characters_per_token) {
    options.tokenizer = CharactersPerToken{*choice.characters_per_token};
  }
  return options;
}

const LoadedTrace& TraceCache::load(const TraceChoice& choice) {
  const std::string key = key_of(choice);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second.loaded;
  ReadResult read = read_trace(choice.path.string(), read_options(choice));
  Entry entry{{std::make_shared<const Trace>(std::move(read.trace)), std::move(read.report)}, choice};
  return entries_.emplace(key, std::move(entry)).first->second.loaded;
}

const LoadedTrace& TraceCache::loaded(const TraceChoice& choice) const { return entries_.at(key_of(choice)).loaded; }

std::vector<InputFile> TraceCache::files() const {
  std::vector<InputFile> files;
  for (const auto& [key, entry] : entries_) {
    files.push_back(fingerprint("trace", entry.choice.path));
    if (entry.choice.tokenizer) files.push_back(fingerprint("tokenizer", *entry.choice.tokenizer));
  }
  return files;
}

}  // namespace servecast
