#include "middlebox/backend/nftables/committer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {

Committer::Committer(const Options& options) : options_(options), writer_(options, batch_) {
  writer_.set_slack(kKernelTick);
}

MessageBuffer& Committer::begin_on(std::uint32_t generation) {
  batch_.begin_batch(generation);
  nothing_ = batch_.size();
  return batch_;
}

void Committer::write(std::span<const Operation> operations, Instant now) {
  writer_.write(operations, now);
}

void Committer::write_removal(const Mask& mask, const std::string& key,
                              const std::string& key_end) {
  writer_.write_removal(mask, key, key_end);
}

Outcome Committer::commit() {
  batch_.end_batch();
  counted_.clear();
  const Instant sent = options_.now();
  const auto outcome =
      options_.counters
          ? socket_.commit(batch_, errors_, [this](const nlmsghdr* message) { note(message); })
          : socket_.commit(batch_, errors_);
  if (outcome != Outcome::kDone) return outcome;
  const auto took = options_.now() - sent;
  // An element's time begins to run somewhere between planning and now.
  writer_.set_slack(std::max<std::chrono::nanoseconds>(writer_.slack(), 2 * took + kKernelTick));
  if (generation_ != 0) ++generation_;
  return outcome;
}

Outcome Committer::carry_out(std::span<const Operation> operations, Instant now) {
  const auto outcome = send(operations, now, nullptr);
  return outcome == Outcome::kFailed ? send(operations, now, &messages_) : outcome;
}

Outcome Committer::send(std::span<const Operation> operations, Instant now,
                        std::vector<ChangeMessage>* messages) {
  messages_.clear();
  counted_.clear();
  // Excess messages would push the acknowledgement out of the receive buffer.
  writer_.set_echo(options_.counters &&
                   operations.size() * kEchoOctets <= socket_.receive_buffer());
  begin();
  writer_.write(operations, now, messages);
  writer_.set_echo(false);
  return empty() ? Outcome::kDone : commit();
}

void Committer::note(const nlmsghdr* message) {
  const std::string set(set_named_in(message));
  for (const auto& element : elements_in(message)) {
    counted_[set + '/' + element.key] += element.counter;
  }
}

std::optional<PacketCount> Committer::counted(const Operation& operation) {
  const auto& mask = operation.store->mask();
  const auto found = counted_.find(writer_.name_of(mask) + '/' + octets_of(mask, operation.key));
  if (found == counted_.end()) return std::nullopt;
  // If it was removed more than once, the first time has it all.
  return std::exchange(found->second, {});
}

Attribution Committer::attribute_errors() const {
  return nftables::attribute_errors(errors_, messages_, options_.now());
}

}  // namespace simco::backend::nftables
