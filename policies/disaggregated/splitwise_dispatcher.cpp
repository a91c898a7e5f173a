#include <utility>

#include "policies/disaggregated/splitwise.hpp"

namespace servecast {

SplitwiseDispatcher::SplitwiseDispatcher(const SplitwiseOptions& options, const std::vector<Machine>& machines)
    : max_pending_(options.max_pending_tokens) {
  for (const Machine& machine : machines) {
    const Group home = machine.pool == Pool::kPrompt ? Group::kPrompt : Group::kToken;
    books_.push_back({home, home, machine.memory, Tokens{0}, Tokens{0}});
  }
}

Destinations SplitwiseDispatcher::place(const RoutedRequest& request, const RouterView& waiting) {
  const Tokens whole = request.prompt + request.max_tokens;
  std::optional<ReplicaId> prompt = prompt_machine(request.prompt, waiting);
  std::optional<ReplicaId> token = token_machine(whole);
  if (!prompt) prompt = borrow(Group::kToken, &Book::pending);
  if (!token) token = borrow(Group::kPrompt, &Book::promised);
  if (!prompt || !token) {
    if (prompt) give_back(*prompt);
    if (token) give_back(*token);
    prompt = token = least(std::nullopt, &Book::pending);
  }
  const Destinations at{*prompt, *token};
  open(request.id, {at, request.prompt, whole});
  return at;
}

// The least loaded one of a group, or of all; of equals the one with the lowest number.
std::optional<ReplicaId> SplitwiseDispatcher::least(std::optional<Group> group, Load load) const {
  std::optional<ReplicaId> found;
  for (std::uint32_t i = 0; i < books_.size(); ++i) {
    if (group && books_[i].group != *group) continue;
    if (!found || books_[i].*load < book(*found).*load) found = ReplicaId{i};
  }
  return found;
}

std::optional<ReplicaId> SplitwiseDispatcher::prompt_machine(Tokens prompt, const RouterView& waiting) const {
  for (const Group group : {Group::kPrompt, Group::kMixed}) {
    const std::optional<ReplicaId> found = least(group, &Book::pending);
    if (!found) continue;
    const bool is_long = waiting.load(*found) > 0 && book(*found).pending + prompt > max_pending_;
    if (!is_long) return found;
  }
  return std::nullopt;
}

std::optional<ReplicaId> SplitwiseDispatcher::token_machine(Tokens whole) const {
  for (const Group group : {Group::kToken, Group::kMixed}) {
    const std::optional<ReplicaId> found = least(group, &Book::promised);
    if (found && book(*found).promised + whole < book(*found).memory) return found;
  }
  return std::nullopt;
}

// It is mixed from then on, until it has nothing left to do.
std::optional<ReplicaId> SplitwiseDispatcher::borrow(Group from, Load load) {
  const std::optional<ReplicaId> found = least(from, load);
  if (found) book(*found).group = Group::kMixed;
  return found;
}

void SplitwiseDispatcher::give_back(ReplicaId machine) {
  Book& idle = book(machine);
  if (idle.open == 0) idle.group = idle.home;
}

void SplitwiseDispatcher::open(RequestId request, const Placed& placed) {
  Book& prompt = book(placed.at.prefill);
  Book& token = book(placed.at.decode);
  prompt.pending += placed.prompt;
  token.pending += Tokens{1};
  if (placed.at.prefill != placed.at.decode) prompt.promised += placed.prompt;
  token.promised += placed.whole;
  ++prompt.open;
  ++token.open;
  placed_.emplace(request, placed);
}

void SplitwiseDispatcher::reached(RequestId request, Milestone milestone) {
  const auto found = placed_.find(request);
  Placed& placed = found->second;
  if (milestone == Milestone::kPrefilled) return prefilled(placed);
  if (milestone == Milestone::kMoved) return moved(placed);
  prefilled(placed);  // what has ended without these
  moved(placed);
  Book& token = book(placed.at.decode);
  token.pending -= Tokens{1};
  token.promised -= placed.whole;
  close(placed.at.decode);
  placed_.erase(found);
}

void SplitwiseDispatcher::prefilled(Placed& placed) {
  if (std::exchange(placed.prefilled, true)) return;
  book(placed.at.prefill).pending -= placed.prompt;
  if (placed.at.prefill == placed.at.decode) close(placed.at.prefill);
}

// The prompt's memory is free.
void SplitwiseDispatcher::moved(Placed& placed) {
  if (placed.at.prefill == placed.at.decode || std::exchange(placed.moved, true)) return;
  book(placed.at.prefill).promised -= placed.prompt;
  close(placed.at.prefill);
}

void SplitwiseDispatcher::close(ReplicaId machine) {
  --book(machine).open;
  give_back(machine);
}

}  // namespace servecast
