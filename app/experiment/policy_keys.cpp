#include <algorithm>

#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

constexpr IntegerRange kTokens{1, kMaxTokensPerLength};
constexpr IntegerRange kSequences{1, 1'000'000};

template <class Options>
Options& of(Experiment& e) {
  return std::get<Options>(e.deployment.policy);
}

// Options by member; each default is the one the scheduler itself has.
template <class Options>
Key count(const char* name, std::int64_t Options::*member, std::string about) {
  return integer_key(name, "sequences", kSequences, std::move(about),
                     [member](Experiment& e, const Scalar& v) { of<Options>(e).*member = v.integer; })
      .with_default(std::to_string(Options{}.*member));
}

template <class Options>
Key tokens(const char* name, Tokens Options::*member, std::string about, IntegerRange range = kTokens) {
  return integer_key(name, "tokens", range, std::move(about),
                     [member](Experiment& e, const Scalar& v) { of<Options>(e).*member = Tokens{v.integer}; })
      .with_default(std::to_string((Options{}.*member).count()));
}

template <class Options>
Key share(const char* name, double Options::*member, std::string about) {
  return number_key(name, "", {0, 1}, std::move(about),
                    [member](Experiment& e, const Scalar& v) { of<Options>(e).*member = v.number; })
      .with_default(decimal(Options{}.*member));
}

template <class Options>
Key flag(const char* name, bool Options::*member, std::string about) {
  return boolean_key(name, std::move(about),
                     [member](Experiment& e, const Scalar& v) { of<Options>(e).*member = v.flag; })
      .with_default(Options{}.*member ? "true" : "false");
}

template <class Options>
Key block(std::string about, std::vector<Key> keys) {
  const std::string name(scheduler_name(Options{}));
  return map_key(name, std::move(about), std::move(keys))
      .where([](const Experiment& e) { return std::holds_alternative<Options>(e.deployment.policy); },
             "deployment.policy is " + name)
      .as_section();
}

Key static_key() {
  using O = StaticOptions;
  return block<O>(
      "Request-level batching: a batch runs until its longest answer ends.",
      {count("batch_size", &O::batch_size, "Most requests in a batch."),
       tokens("max_len", &O::max_len, "Tokens reserved for every request, prompt and answer together."),
       flag("padding", &O::padding, "Prompts and contexts are padded to the longest of the batch."),
       choice_key("deliver", {"stream", "at_batch_end"},
                  "Answers leave token by token, or together when the batch ends.",
                  [](Experiment& e, const Scalar& v) { of<O>(e).deliver_at_end = v.text == "at_batch_end"; })
           .with_default(O{}.deliver_at_end ? "at_batch_end" : "stream"),
       number_key("wait_for_batch_s", "s", {0, kMostSeconds},
                  "How long an idle engine waits for a full batch after the first arrival.",
                  [](Experiment& e, const Scalar& v) { of<O>(e).wait_for_batch = from_seconds(v.number); })
           .with_default(decimal(seconds(O{}.wait_for_batch)))});
}

const std::vector<std::string>& reservations() {  // in the order of Reservation
  static const std::vector<std::string> kNames{"max-tokens", "max", "power-of-two", "exact"};
  return kNames;
}

Key reserve_key() {
  return choice_key(
             "reserve", reservations(),
             "KV memory taken when a request starts: prompt and the client's cap; `max_len` for everybody; prompt "
             "and the answer's length rounded up to a power of two; or exactly (the last two ask an oracle).",
             [](Experiment& e, const Scalar& v) {
               const auto at = std::find(reservations().begin(), reservations().end(), v.text);
               of<OrcaOptions>(e).reserve = static_cast<Reservation>(at - reservations().begin());
             })
      .with_default(reservations()[static_cast<std::size_t>(OrcaOptions{}.reserve)]);
}

Key orca_key() {
  using O = OrcaOptions;
  return block<O>("Iteration-level scheduling over contiguous reservations.",
                  {count("max_batch", &O::max_batch, "Most requests that run at once."), reserve_key(),
                   tokens("max_len", &O::max_len, "Tokens that `reserve: max` takes for every request.")
                       .where(
                           [](const Experiment& e) {
                             return std::get<OrcaOptions>(e.deployment.policy).reserve == Reservation::kMax;
                           },
                           "reserve is max")});
}

Key vllm_v0_key() {
  using O = VllmV0Options;
  return block<O>(
      "vLLM's first engine: prefills first, in steps of their own.",
      {count("max_num_seqs", &O::max_num_seqs, "Most sequences that run at once."),
       integer_key("max_num_batched_tokens", "tokens", kTokens,
                   "Most prompt tokens in a step; absent: the larger of 2048 and the model's length.",
                   [](Experiment& e, const Scalar& v) { of<O>(e).max_num_batched_tokens = Tokens{v.integer}; }),
       share("watermark", &O::watermark, "Share of the KV blocks that admission leaves free.")});
}

Key vllm_v1_key() {
  using O = VllmV1Options;
  return block<O>(
      "vLLM's second engine: one token budget for running and waiting alike.",
      {tokens("max_num_batched_tokens", &O::max_num_batched_tokens, "Most tokens in a step."),
       count("max_num_seqs", &O::max_num_seqs, "Most sequences that run at once."),
       tokens("long_prefill_token_threshold", &O::long_prefill_token_threshold,
              "Longest chunk of one prompt in a step; 0: no limit.", {0, kMaxTokensPerLength}),
       flag("chunked_prefill", &O::chunked_prefill, "Prompts may be cut over several steps."),
       flag("reserve_full_isl", &O::reserve_full_isl, "The whole prompt must fit the free blocks at admission."),
       share("watermark", &O::watermark, "Share of the KV blocks that admission leaves free while something runs.")});
}

Key sarathi_key() {
  using O = SarathiOptions;
  return block<O>(
      "Sarathi-Serve: decodes always run, prompt chunks fill the rest of the budget.",
      {tokens("token_budget", &O::token_budget, "Most tokens in a step; the chunk size."),
       count("max_num_seqs", &O::max_num_seqs, "Most sequences that run at once."),
       share("watermark", &O::watermark, "Share of the KV blocks that admission leaves free."),
       flag("share_step", &O::share_step, "Chunks and decodes share steps; false: they alternate (an ablation).")});
}

Key sglang_key() {
  using O = SglangOptions;
  return block<O>(
      "SGLang, first come first served, without its prefix cache.",
      {tokens("chunked_prefill_size", &O::chunked_prefill_size, "Most tokens of a chunked prompt in a step."),
       tokens("max_prefill_tokens", &O::max_prefill_tokens, "Most prompt tokens of a prefill batch."),
       count("max_running_requests", &O::max_running_requests, "Most requests that run at once."),
       share("new_token_ratio", &O::new_token_ratio,
             "Share of the outstanding answers that admission reserves memory for, at first."),
       share("min_new_token_ratio", &O::min_new_token_ratio, "The share at last; at most the first."),
       share("ratio_decay", &O::ratio_decay, "How much the share falls in each decode step."),
       tokens("clip_max_new_tokens", &O::clip_max_new_tokens, "Longest answer that admission reckons with."),
       flag("mixed_chunk", &O::mixed_chunk, "Decodes ride along with prompt chunks.")});
}

Key distserve_key() {
  using O = DistserveOptions;
  return block<O>("DistServe: prefill and decode on replicas of their own, with swapping.",
                  {count("prefill_max_batch", &O::prefill_max_batch, "Most prompts in a step."),
                   tokens("prefill_max_tokens", &O::prefill_max_tokens, "Most prompt tokens in a step."),
                   count("decode_max_batch", &O::decode_max_batch, "Most sequences that decode at once.")
                       .where(not_simdistserve, kNotSimdistserve),
                   tokens("decode_max_tokens", &O::decode_max_tokens, "Most tokens in a step that decodes.")
                       .where(not_simdistserve, kNotSimdistserve)});
}

Key splitwise_key() {
  using O = SplitwiseOptions;
  return block<O>(
      "Splitwise: each request gets a machine of the prompt and one of the token pool; pools lend machines.",
      {tokens("max_batch_tokens", &O::max_batch_tokens, "Most tokens in a step of several requests."),
       count("max_batch", &O::max_batch, "Most prompts and decodes in a step."),
       integer_key("max_passed_over", "steps", kSequences,
                   "So many steps may leave a request out before it goes first.",
                   [](Experiment& e, const Scalar& v) { of<O>(e).max_passed_over = v.integer; })
           .with_default(std::to_string(O{}.max_passed_over)),
       tokens("max_pending_tokens", &O::max_pending_tokens,
              "Most pending tokens at a machine with a queue that still gets a prompt."),
       flag("layer_wise", &O::layer_wise, "KV leaves layer by layer while the prompt is computed; false: after it.")});
}

}  // namespace

Key policy_options_key() {
  return map_key("options", "Options by policy; those of a policy that no point of the grid runs are an error.",
                 {static_key(), orca_key(), vllm_v0_key(), vllm_v1_key(), sarathi_key(), sglang_key(), distserve_key(),
                  splitwise_key()});
}

}  // namespace servecast::experiments
