// A conversation as requests: each answer ends one, whose prompt is all that was said before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/row_checker.hpp"
#include "traces/tokenizers/tokenizer.hpp"

namespace servecast {

enum class Speaker { kUser, kModel, kContext };  // context: system prompts, tools, and whoever else

// By the names that ShareGPT-like sets use; anybody unknown is context.
[[nodiscard]] Speaker speaker_of(std::string_view role);

// Messages are counted one by one, as chat templates tokenise them, and their tokens added up.
class Conversation {
 public:
  Conversation(std::uint32_t session, long line, TokenCounter& counter, RowChecker& rows)
      : session_(session), line_(line), counter_(counter), rows_(rows) {}

  // An answer to nothing is counted as dropped, and stays in the history.
  void say(Speaker speaker, std::string_view text);
  // A last question without an answer is counted as dropped, and so is a conversation without messages.
  void end();

 private:
  void answer(Tokens tokens);

  std::uint32_t session_;
  long line_;
  TokenCounter& counter_;
  RowChecker& rows_;
  Tokens said_{0};
  std::uint32_t turn_ = 0;
  bool asked_ = false;
  bool empty_ = true;
};

}  // namespace servecast
