#include "kernels/gpu_check/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "kernels/gpu_check/session.hpp"

namespace servecast::kernels::gpu_check {
namespace {

template <class Number>
std::string_view parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return text;
  return text.substr(static_cast<std::size_t>(end - text.data()));
}

Status bad(std::string_view what, std::string_view value) {
  std::string message(what);
  return Status::invalid(message.append(" '").append(value).append("'"));
}

template <std::size_t N>
bool one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  for (const std::string_view candidate : names) {
    if (candidate == name) return true;
  }
  return false;
}

bool is_phase(std::string_view name) {
  return std::any_of(kPhases.begin(), kPhases.end(), [&](const Phase& phase) { return phase.name == name; });
}

Status known_operators(const std::vector<std::string>& names) {
  const std::vector<std::string> known = operator_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string message = bad("no operator", name).message();
    const char* before = "; there are ";
    for (const std::string& one : known) message.append(std::exchange(before, ", ")).append(one);
    return Status::invalid(std::move(message));
  }
  return {};
}

template <std::size_t... I>
std::vector<std::string> names_of_operators(std::index_sequence<I...>) {
  return {std::string(name_of(Operation(std::variant_alternative_t<I, Operation>())))...};
}

bool set_flag(std::string_view name, Options& options) {
  bool* flag = name == "--smoke"   ? &options.smoke
               : name == "--eager" ? &options.eager
               : name == "--help"  ? &options.help
                                   : nullptr;
  if (flag != nullptr) *flag = true;
  return flag != nullptr;
}

Status set_value(std::string_view name, std::string_view value, Options& options) {
  constexpr std::array<std::string_view, 3> kBackends{"cuda", "emulation", "cpu"};
  if (name == "--budget") return parse_duration(value, options.budget_s);
  if (name == "--seed") return parse_number(value, options.seed).empty() ? Status() : bad("no seed:", value);
  if (name == "--backend" && !one_of(value, kBackends)) return bad("no back end", value);
  if (name == "--phase" && !is_phase(value)) return bad("no phase", value);
  if (name == "--only" || name == "--exclude") {
    const Status known = known_operators(name == "--only" ? std::vector{std::string(value)} : split_list(value));
    if (!known.ok()) return known;
  }
  std::string* text = name == "--backend"   ? &options.backend
                      : name == "--phase"   ? &options.phase
                      : name == "--out"     ? &options.out
                      : name == "--only"    ? &options.only
                      : name == "--filter"  ? &options.filter
                      : name == "--exclude" ? &options.exclude
                                            : nullptr;
  if (text == nullptr) return bad("no option", name);
  *text = value;
  return {};
}

}  // namespace

std::vector<std::string> operator_names() {
  return names_of_operators(std::make_index_sequence<std::variant_size_v<Operation>>());
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t comma = list.find(','); comma != std::string_view::npos; comma = list.find(',')) {
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma + 1);
  }
  parts.emplace_back(list);
  return parts;
}

Status parse_duration(std::string_view text, double& seconds) {
  const std::string_view unit = parse_number(text, seconds);
  const bool known = unit.empty() || unit == "s" || unit == "min";
  if (unit == text || !known || !(seconds > 0)) return bad("no time (90s, 4min):", text);
  if (unit == "min") seconds *= 60;
  return {};
}

Status parse(std::span<const char* const> arguments, Options& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (set_flag(name, options)) continue;
    if (i + 1 == arguments.size()) return bad("no value, or no such option:", name);
    const Status status = set_value(name, arguments[++i], options);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace servecast::kernels::gpu_check
