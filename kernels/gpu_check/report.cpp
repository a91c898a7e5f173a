#include "kernels/gpu_check/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <map>
#include <sstream>

#include "kernels/gpu_check/files.hpp"
#include "kernels/gpu_check/json.hpp"

namespace servecast::kernels::gpu_check {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

double number(std::string_view line, std::string_view key) {
  const std::string text(json_field(line, key));
  return std::strtod(text.c_str(), nullptr);
}

std::string correctness_text(const std::string& parts) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parts, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("correctness-") && name.ends_with(".jsonl")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const std::string& path : paths) text += read_file(path);
  return text + read_file(parts + "/large.jsonl");
}

std::string json_array_of(std::string_view text) {
  std::string array = "[";
  for (const std::string_view line : lines_of(text)) array.append(array.size() > 1 ? ",\n" : "\n").append(line);
  return array.append("]");
}

std::string json_report(const PhaseTexts& texts, const std::vector<PhaseReport>& reports) {
  std::vector<JsonObject> phases;
  for (const PhaseReport& report : reports) {
    JsonObject phase;
    phase.add("phase", report.phase).add("operator", report.subject).add("outcome", name_of(report.outcome));
    phases.push_back(phase.add("ended", report.ended).add("seconds", report.seconds));
  }
  JsonObject object;
  object.add_json("devices", json_array_of(texts.probe)).add("phases", phases);
  return object.add_json("ceilings", json_array_of(texts.ceilings)).text() + "\n";
}

struct Checked {
  int cases = 0;
  int failed = 0;
  double worst = 0;  // error over its bound
};

void put_correctness(std::string_view text, std::ostringstream& out) {
  std::map<std::string, Checked> operators;
  for (const std::string_view line : lines_of(text)) {
    if (json_field(line, "record") != "case") continue;
    Checked& checked = operators[std::string(json_field(line, "operator"))];
    ++checked.cases;
    if (json_field(line, "ok") != "true") ++checked.failed;
    checked.worst = std::max(checked.worst, number(line, "error") / number(line, "bound"));
  }
  out << "\n## Correctness\n\n| operator | cases | failed | worst error / bound |\n|---|---|---|---|\n";
  for (const auto& [name, checked] : operators) {
    out << "| " << name << " | " << checked.cases << " | " << checked.failed << " | " << std::fixed
        << std::setprecision(2) << checked.worst << " |\n";
  }
}

double ceiling(std::string_view text, std::string_view name, std::string_view key) {
  for (const std::string_view line : lines_of(text)) {
    if (json_field(line, "name") == name) return number(line, key);
  }
  return 0;
}

void put_ceilings(std::string_view text, std::ostringstream& out) {
  out << "\n## Ceilings\n\n| what | bytes | median us |\n|---|---|---|\n";
  for (const std::string_view line : lines_of(text)) {
    out << "| " << json_field(line, "name") << " | " << json_field(line, "bytes") << " | " << std::fixed
        << std::setprecision(2) << 1e6 * number(line, "median_s") << " |\n";
  }
  out << std::setprecision(1) << "\nA large product: " << ceiling(text, "gemm", "flops_per_s") / 1e12
      << " TFLOP/s. A copy on the device, read and written: " << ceiling(text, "device_copy", "bytes_per_s") / 1e9
      << " GB/s.\n";
}

// The attention among several launches, which tells batches and models apart, with how often it occurs.
std::string launches_text(std::string_view parts) {
  std::string text;
  for (std::size_t end = parts.find('}'); end != std::string_view::npos; end = parts.find('}')) {
    const std::string_view part = parts.substr(0, end);
    parts.remove_prefix(end + 1);
    if (!json_field(part, "operator").ends_with("attention")) continue;
    text.append(" ").append(json_field(part, "operator"));
    for (const std::string_view key : {"times", "head_dim", "sequences", "query_tokens", "context_tokens"}) {
      text.append(" ").append(key).append(":").append(json_field(part, key));
    }
  }
  return text;
}

// The shape: what stands before "record" in a line of measurements, and what matters of several launches.
std::string shape_text(std::string_view line) {
  std::string text(line.substr(1, line.find(",\"record\"") - 1));
  std::erase(text, '"');
  std::replace(text.begin(), text.end(), ',', ' ');
  const std::size_t parts = line.find("\"parts\":[");
  if (parts != std::string_view::npos) text += launches_text(line.substr(parts, line.find(']', parts) - parts));
  return text;
}

void put_measurements(const PhaseTexts& texts, std::ostringstream& out) {
  const double peak = ceiling(texts.ceilings, "gemm", "flops_per_s");
  const double bandwidth = ceiling(texts.ceilings, "device_copy", "bytes_per_s");
  const auto share = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0; };
  out << "\n## Measurements\n\nShares are of the ceilings above; `bytes` moves each operand once.\n\n"
      << "| group | shape | median us | noise % | TFLOP/s | % | GB/s | % |\n|---|---|---|---|---|---|---|---|\n";
  for (const std::string_view line : lines_of(texts.measurements)) {
    if (json_field(line, "record") != "point" || json_field(line, "median_s").empty()) continue;
    const double seconds = number(line, "median_s");
    const double flops = number(line, "flops") / seconds;
    const double bytes = number(line, "bytes") / seconds;
    out << "| " << json_field(line, "group") << " | " << shape_text(line) << std::fixed << std::setprecision(2) << " | "
        << 1e6 * seconds << " | " << 100 * number(line, "noise") << std::setprecision(1) << " | " << flops / 1e12
        << " | " << share(flops, peak) << " | " << bytes / 1e9 << " | " << share(bytes, bandwidth) << " |\n";
  }
}

}  // namespace

std::string markdown(const PhaseTexts& texts, const std::vector<PhaseReport>& reports) {
  std::ostringstream out;
  out << "# gpu_check\n\n";
  for (const std::string_view line : lines_of(texts.probe)) {
    out << json_field(line, "device") << ", sm_" << json_field(line, "architecture") << ", "
        << json_field(line, "processors") << " processors, driver " << json_field(line, "driver") << ", "
        << json_field(line, "sm_mhz") << " MHz, " << json_field(line, "temperature_c") << " °C.\n";
  }
  out << "\n| phase | operator | outcome | seconds | ended |\n|---|---|---|---|---|\n";
  for (const PhaseReport& report : reports) {
    out << "| " << report.phase << " | " << report.subject << " | " << name_of(report.outcome) << " | " << std::fixed
        << std::setprecision(1) << report.seconds << " | " << report.ended << " |\n";
  }
  put_correctness(texts.correctness, out);
  put_ceilings(texts.ceilings, out);
  put_measurements(texts, out);
  return out.str();
}

Status write_results(const std::string& out, const std::string& parts, const std::vector<PhaseReport>& reports) {
  const PhaseTexts texts{read_file(parts + "/probe.jsonl"), correctness_text(parts),
                         read_file(parts + "/ceilings.jsonl"),
                         read_file(parts + "/measure.jsonl") + read_file(parts + "/graphs.jsonl")};
  Status status = write_file(out + "/report.json", json_report(texts, reports));
  if (status.ok()) status = write_file(out + "/report.md", markdown(texts, reports));
  if (status.ok()) status = write_file(out + "/correctness.jsonl", texts.correctness);
  if (status.ok()) status = write_file(out + "/measurements.jsonl", texts.measurements);
  return status;
}

}  // namespace servecast::kernels::gpu_check
