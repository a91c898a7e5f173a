// ShareGPT and its kin: an array (or lines) of conversations. The messages stand under `conversations`,
// `conversation`, `items` or `messages`, each as {from, value}, {role, content} or {human, assistant}.
#include <array>
#include <cstdint>
#include <simdjson.h>

#include "traces/conversation.hpp"
#include "traces/json_elements.hpp"
#include "traces/numbers.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {
namespace {

using simdjson::dom::element;

bool is_surrogate(std::string_view escape, char low, char high) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; };
  return escape.size() >= 6 && escape[0] == '\\' && escape[1] == 'u' && lower(escape[2]) == 'd' &&
         lower(escape[3]) >= low && lower(escape[3]) <= high;
}

// Texts cut in the middle of an emoji hold half a surrogate pair, which no JSON parser has to accept. Each
// half becomes U+FFFD. Says how many.
std::int64_t mend_surrogates(std::string& json) {
  std::int64_t mended = 0;
  for (std::size_t at = json.find('\\'); at != std::string::npos; at = json.find('\\', at)) {
    const std::string_view rest = std::string_view(json).substr(at);
    const bool first_half = is_surrogate(rest, '8', 'b');
    if (first_half && is_surrogate(rest.substr(6), 'c', 'f')) {
      at += 12;
    } else if (first_half || is_surrogate(rest, 'c', 'f')) {
      json.replace(at, 6, "\\ufffd");
      at += 6;
      ++mended;
    } else {
      at += 2;
    }
  }
  return mended;
}

class Reader {
 public:
  Reader(BufferedInput& input, const ReadOptions& options, RowChecker& rows)
      : elements_(input), rows_(rows), counter_(make_token_counter(options.tokenizer)) {}

  void read() {
    std::string_view text;
    while (elements_.next(text)) read_conversation(parse(text));
    rows_.describe_tokens(counter_->description());
    rows_.note(std::to_string(conversations_) +
               " conversations; tokens of the messages alone, without a chat template");
    note_if(other_speakers_, " messages of roles other than user and assistant counted as context");
    note_if(mended_, " halves of surrogate pairs replaced by U+FFFD");
  }

 private:
  [[nodiscard]] Where where(std::string_view field = {}) const { return {elements_.file(), elements_.line(), field}; }

  void note_if(std::int64_t count, const char* what) {
    if (count > 0) rows_.note(std::to_string(count) + what);
  }

  element parse(std::string_view text) {
    json_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    json_.assign(text);
    element conversation;
    simdjson::error_code error = parser_.parse(json_.data(), json_.size(), false).get(conversation);
    if (error == simdjson::STRING_ERROR) {
      if (const std::int64_t mended = mend_surrogates(json_); mended > 0) {
        mended_ += mended;
        error = parser_.parse(json_.data(), json_.size(), false).get(conversation);
      }
    }
    if (error != simdjson::SUCCESS) {
      fail(where(), std::string("is not valid JSON: ") + simdjson::error_message(error));
    }
    return conversation;
  }

  void read_conversation(element json) {
    if (conversations_ == std::int64_t{UINT32_MAX}) fail(where(), "more than 4294967295 conversations");
    Conversation conversation(static_cast<std::uint32_t>(conversations_++), elements_.line(), *counter_, rows_);
    for (const element message : messages_of(json)) read_message(message, conversation);
    conversation.end();
  }

  simdjson::dom::array messages_of(element json) const {
    simdjson::dom::array messages;
    for (const char* key : {"conversations", "conversation", "items", "messages"}) {
      element value;
      if (json[key].get(value) != simdjson::SUCCESS) continue;
      if (value.get(messages) != simdjson::SUCCESS) fail(where(key), "expected an array of messages");
      return messages;
    }
    fail(where(), "holds no conversation", "expected `conversations`, `conversation`, `items` or `messages`");
  }

  void read_message(element message, Conversation& conversation) {
    constexpr std::array<std::array<const char*, 2>, 2> kForms{{{"from", "value"}, {"role", "content"}}};
    for (const auto& [who, what] : kForms) {
      std::string_view role;
      if (message[who].get(role) != simdjson::SUCCESS) continue;
      const Speaker speaker = speaker_of(role);
      if (speaker == Speaker::kContext && role != "system") ++other_speakers_;
      conversation.say(speaker, text_of(message, what));
      return;
    }
    element pair;
    if (message["human"].get(pair) != simdjson::SUCCESS) {
      fail(where(), "a message has no speaker", "expected {from, value}, {role, content} or {human, assistant}");
    }
    conversation.say(Speaker::kUser, text_of(message, "human"));
    conversation.say(Speaker::kModel, text_of(message, "assistant"));
  }

  // A string, nothing (null), or the text parts of an array.
  std::string_view text_of(element message, const char* key) {
    element value;
    if (message[key].get(value) != simdjson::SUCCESS) fail(where(key), "is missing from a message");
    std::string_view text;
    if (value.is_null() || value.get(text) == simdjson::SUCCESS) return text;
    simdjson::dom::array parts;
    if (value.get(parts) != simdjson::SUCCESS) fail(where(key), "expected a text");
    joined_.clear();
    for (const element part : parts) {
      if (part["text"].get(text) == simdjson::SUCCESS) joined_ += text;
    }
    return joined_;
  }

  JsonElements elements_;
  RowChecker& rows_;
  std::unique_ptr<TokenCounter> counter_;
  std::string json_;
  std::string joined_;
  simdjson::dom::parser parser_;
  std::int64_t conversations_ = 0;
  std::int64_t other_speakers_ = 0;
  std::int64_t mended_ = 0;
};

}  // namespace

void read_sharegpt(BufferedInput& input, const ReadOptions& options, RowChecker& rows) {
  Reader(input, options, rows).read();
}

}  // namespace servecast::readers
