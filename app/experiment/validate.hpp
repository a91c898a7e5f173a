// Holds what was written against the keys.
#pragma once

#include <string>

#include "app/experiment/key.hpp"

namespace servecast::experiments {

// Every key known and given once, every value of its key's kind and within bounds. Says nothing about what is
// missing. `path` is how messages name the node. Throws InputError.
void validate(const Key& key, const Node& node, const std::string& path);

// A value of a key that is neither a map nor a one-of.
[[nodiscard]] Scalar parse_scalar(const Key& key, const Node& node, const std::string& path);

// Letters, digits, '.', '_' and '-'; what can name a folder anywhere.
[[nodiscard]] bool is_name(const std::string& text);

// The key at `path`. Throws InputError at `place` where a part of it is unknown, with a suggestion.
[[nodiscard]] const Key& key_at(const Key& root, const Path& path, const InputPlace& place);

}  // namespace servecast::experiments
