// How far a long run is, on standard error: a bar on a terminal, a plain line now and then elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <mutex>

namespace servecast {

class ProgressBoard {
 public:
  enum class Style { kQuiet, kLines, kBar };

  // `requests` is what all points together will end; 0 when that is not known.
  ProgressBoard(Style style, std::ostream& out, std::size_t points, std::uint64_t requests);
  // Wipes the bar.
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // From any thread.
  void requests_ended(std::uint64_t more);
  void point_done();

 private:
  void show(bool now);

  Style style_;
  std::ostream& out_;
  std::size_t points_;
  std::uint64_t requests_;
  std::atomic<std::size_t> points_done_{0};
  std::atomic<std::uint64_t> requests_done_{0};
  std::mutex writing_;
  std::chrono::steady_clock::time_point started_, shown_;
  bool bar_stands_ = false;
};

// What suits standard error.
[[nodiscard]] ProgressBoard::Style progress_style(bool quiet);

}  // namespace servecast
