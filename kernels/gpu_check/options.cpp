#include "kernels/gpu_check/options.hpp"

#include <array>
#include <charconv>
#include <utility>

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
  constexpr std::array<std::string_view, 6> kPhases{"probe", "correctness", "large", "ceilings", "measure", "graphs"};
  if (name == "--budget") return parse_duration(value, options.budget_s);
  if (name == "--seed") return parse_number(value, options.seed).empty() ? Status() : bad("no seed:", value);
  if (name == "--backend" && !one_of(value, kBackends)) return bad("no back end", value);
  if (name == "--phase" && !one_of(value, kPhases)) return bad("no phase", value);
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
