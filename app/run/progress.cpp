#include "app/run/progress.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <ostream>
#include <unistd.h>

#include "app/results/text_table.hpp"

namespace servecast {
namespace {

constexpr std::size_t kBarWidth = 30;

}  // namespace

ProgressBoard::ProgressBoard(Style style, std::ostream& out, std::size_t points, std::uint64_t requests)
    : style_(style),
      out_(out),
      points_(points),
      requests_(requests),
      started_(std::chrono::steady_clock::now()),
      shown_(started_) {}

ProgressBoard::~ProgressBoard() {
  if (bar_stands_) out_ << "\r\033[K" << std::flush;
}

void ProgressBoard::requests_ended(std::uint64_t more) {
  requests_done_ += more;
  if (style_ != Style::kQuiet) show(false);
}

void ProgressBoard::point_done() {
  ++points_done_;
  if (style_ != Style::kQuiet) show(false);
}

void ProgressBoard::show(bool now) {
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock) return;  // another thread is saying it
  using namespace std::chrono_literals;
  const auto time = std::chrono::steady_clock::now();
  if (!now && time - shown_ < (style_ == Style::kBar ? 100ms : 5000ms)) return;
  shown_ = time;
  const std::uint64_t done = requests_done_;
  const double share = requests_ == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(requests_));
  const double elapsed = std::chrono::duration<double>(time - started_).count();
  std::string text =
      fmt::format("{:3.0f} %  point {} of {}, {} requests", share * 100, std::min(points_, points_done_ + 1), points_,
                  human_count(static_cast<std::int64_t>(done)));
  if (share > 0.01 && share < 1) text += ", " + human_seconds(elapsed / share - elapsed) + " left";
  if (style_ == Style::kLines) {
    out_ << "servecast: " << text << std::endl;
    return;
  }
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  out_ << "\r\033[K[" << std::string(full, '#') << std::string(kBarWidth - full, '.') << "] " << text << std::flush;
  bar_stands_ = true;
}

ProgressBoard::Style progress_style(bool quiet) {
  if (quiet) return ProgressBoard::Style::kQuiet;
  return ::isatty(STDERR_FILENO) == 1 ? ProgressBoard::Style::kBar : ProgressBoard::Style::kLines;
}

}  // namespace servecast
