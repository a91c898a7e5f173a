#include "traces/tokenizers/bpe.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace servecast {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

}  // namespace

void BytePairs::add_token(std::string bytes, std::uint32_t id) {
  if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = id;
  tokens_.insert_or_assign(std::move(bytes), id);
}

bool BytePairs::add_merge(std::string_view left, std::string_view right) {
  const auto first = tokens_.find(std::string(left));
  const auto second = tokens_.find(std::string(right));
  const auto whole = tokens_.find(std::string(left).append(right));
  if (first == tokens_.end() || second == tokens_.end() || whole == tokens_.end()) return false;
  const auto rank = static_cast<std::uint32_t>(merges_.size());
  merges_.try_emplace(pair_of(first->second, second->second), Merge{rank, whole->second});
  return true;
}

int BytePairs::missing_bytes() const { return static_cast<int>(std::count(byte_ids_.begin(), byte_ids_.end(), -1)); }

void BytePairs::consider(const std::vector<Symbol>& symbols, std::size_t left, std::vector<Candidate>& heap) const {
  if (left == kNone || symbols[left].next == kNone) return;
  const std::uint64_t pair = pair_of(symbols[left].id, symbols[symbols[left].next].id);
  const auto merge = merges_.find(pair);
  if (merge == merges_.end()) return;
  heap.push_back({merge->second.rank, left, pair});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

void BytePairs::encode(std::string_view word, std::vector<std::uint32_t>& ids) const {
  if (whole_words_) {
    if (const auto token = tokens_.find(std::string(word)); token != tokens_.end()) {
      ids.push_back(token->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::int64_t id = byte_ids_[static_cast<unsigned char>(word[i])];
    assert(id >= 0);
    symbols.push_back({static_cast<std::uint32_t>(id), i == 0 ? kNone : i - 1, i + 1 == word.size() ? kNone : i + 1});
  }
  std::vector<Candidate> heap;
  for (std::size_t i = 0; i < symbols.size(); ++i) consider(symbols, i, heap);
  // A symbol that was merged into its left neighbour keeps `previous == itself` as a mark that it is gone.
  const auto gone = [&symbols](std::size_t at) { return symbols[at].previous == at; };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const Candidate best = heap.back();
    heap.pop_back();
    if (gone(best.left) || symbols[best.left].next == kNone) continue;
    Symbol& left = symbols[best.left];
    const std::size_t right = left.next;
    if (pair_of(left.id, symbols[right].id) != best.pair) continue;
    left.id = merges_.find(best.pair)->second.id;
    left.next = symbols[right].next;
    symbols[right].previous = right;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    consider(symbols, left.previous, heap);
    consider(symbols, best.left, heap);
  }
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (!gone(i)) ids.push_back(symbols[i].id);
  }
}

}  // namespace servecast
