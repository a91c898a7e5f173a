#include "sim/error.hpp"

#include <algorithm>
#include <numeric>

namespace servecast {
namespace {

std::string message(const InputPlace& place, std::string_view problem, std::string_view hint) {
  std::string text;
  if (!place.file.empty()) {
    text += place.file;
    if (place.line > 0) text += ":" + std::to_string(place.line);
    text += ": ";
  }
  if (!place.field.empty()) text += place.field + ": ";
  text += problem;
  if (!hint.empty()) text.append("; ").append(hint);
  return text;
}

constexpr std::size_t kMostSuggested = 6;

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return folded;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

InputError::InputError(const InputPlace& place, std::string_view problem, std::string_view hint)
    : std::runtime_error(message(place, problem, hint)), place_(place) {}

std::string suggest(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string folded = lower(wrong);
  std::vector<const std::string*> longer;  // names that begin with what was typed
  for (const std::string& name : known) {
    if (!folded.empty() && lower(name).starts_with(folded)) longer.push_back(&name);
  }
  if (!longer.empty() && longer.size() <= kMostSuggested) {
    std::string list;
    for (const std::string* name : longer) list += (list.empty() ? "'" : ", '") + *name + "'";
    return "did you mean " + list + "?";
  }
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(folded, lower(name));
    if (distance < best_distance) {
      best = &name;
      best_distance = distance;
    }
  }
  if (best != nullptr) return "did you mean '" + *best + "'?";
  std::string list = "expected one of: ";
  for (std::size_t i = 0; i < known.size(); ++i) list += (i == 0 ? "" : ", ") + known[i];
  return list;
}

}  // namespace servecast
