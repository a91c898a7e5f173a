#include "kernels/emulation/messages.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace servecast::kernels::emulation {
namespace {

std::string text_of(const uint3& index) {
  std::string text = "(";
  text.append(std::to_string(index.x)).append(", ");
  text.append(std::to_string(index.y)).append(", ");
  text.append(std::to_string(index.z)).append(")");
  return text;
}

}  // namespace

std::string about(const Thread& thread) {
  std::string text = "thread ";
  text.append(text_of(thread.index)).append(" of block ").append(text_of(launch_state.block_index)).append(": ");
  return text;
}

std::string at(Place place) {
  const std::string_view file = place.file;
  std::string text = ", at ";
  text.append(file.substr(file.find_last_of('/') + 1)).append(":").append(std::to_string(place.line));
  return text;
}

// Groups the waiting threads by what they wait in.
std::string Engine::deadlock() const {
  struct Group {
    const Thread* first;
    unsigned threads;
  };
  std::vector<Group> groups;
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& thread = (*threads_)[i];
    if (thread.state == State::kEnded) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.first->place == thread.place && group.first->state == thread.state;
    });
    if (same == groups.end()) {
      groups.push_back({&thread, 1});
    } else {
      ++same->threads;
    }
  }
  std::string text = "deadlock in block ";
  text.append(text_of(launch_state.block_index)).append(": no thread can go on");
  for (const Group& group : groups) {
    text.append("; ").append(std::to_string(group.threads)).append(" in ").append(group.first->waits_in);
    text.append(at(group.first->place)).append(", the first is thread ").append(text_of(group.first->index));
  }
  text.append("; ").append(std::to_string(size_ - alive_)).append(" have ended");
  return text;
}

}  // namespace servecast::kernels::emulation
