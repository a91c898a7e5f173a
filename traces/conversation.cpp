#include "traces/conversation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "traces/numbers.hpp"

namespace servecast {

Speaker speaker_of(std::string_view role) {
  constexpr std::array<std::string_view, 3> kUsers{"human", "user", "prompter"};
  constexpr std::array<std::string_view, 8> kModels{"gpt",  "assistant", "chatgpt", "model",
                                                    "bing", "bard",      "claude",  "bot"};
  if (std::find(kUsers.begin(), kUsers.end(), role) != kUsers.end()) return Speaker::kUser;
  if (std::find(kModels.begin(), kModels.end(), role) != kModels.end()) return Speaker::kModel;
  return Speaker::kContext;
}

void Conversation::say(Speaker speaker, std::string_view text) {
  empty_ = false;
  const Tokens tokens = check_tokens(counter_.count(text), {rows_.file(), line_, {}});
  if (speaker == Speaker::kModel) answer(tokens);
  if (speaker == Speaker::kUser) asked_ = true;
  said_ = check_tokens((said_ + tokens).count(), {rows_.file(), line_, {}});
}

void Conversation::answer(Tokens tokens) {
  if (!std::exchange(asked_, false)) {
    rows_.drop("answer without a question");
    return;
  }
  TraceRow row;
  row.prompt = said_;
  row.output = tokens;
  row.session = session_;
  row.turn = turn_++;
  rows_.add(row, line_);
}

void Conversation::end() {
  if (empty_) rows_.drop("conversation without messages");
  if (asked_) rows_.drop("question without an answer");
}

}  // namespace servecast
