// Messages that a channel's user has queued and the transport has not taken yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simco/net/limits.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::net {

class OutputQueue {
 public:
  enum class Boundaries : std::uint8_t {
    kForget,  ///< for a stream of octets
    kKeep,    ///< for user messages
  };
  explicit OutputQueue(Boundaries boundaries) : boundaries_(boundaries) {}

  /// Returns room for a message at the end, to be filled before the next call; nothing if more than
  /// `limit` octets would wait.
  std::span<std::byte> allocate(std::size_t size, Delivery delivery, std::size_t limit) {
    if (size > limit - std::min(limit, this->size())) return {};
    if (boundaries_ == Boundaries::kKeep) messages_.push_back({size, delivery});
    const std::size_t old_size = octets_.size();
    octets_.resize(old_size + size);
    return std::span{octets_}.subspan(old_size);
  }
  /// Octets that wait.
  std::size_t size() const { return octets_.size() - head_; }
  bool empty() const { return size() == 0; }

  /// Everything that waits, as octets.
  std::span<const std::byte> octets() const { return std::span{octets_}.subspan(head_); }
  /// The transport has taken so many of them.
  void take(std::size_t count) { head_ += count; }

  /// A message that waits.
  struct Message {
    std::span<const std::byte> octets;
    Delivery delivery;
    bool more = false;  ///< another message follows
  };
  /// The message that is next; with Boundaries::kKeep, if the queue is not empty.
  Message front() const {
    const auto [size, delivery] = messages_[messages_head_];
    return {octets().first(size), delivery, messages_head_ + 1 < messages_.size()};
  }
  /// The transport has taken it.
  void pop() {
    head_ += messages_[messages_head_].size;
    ++messages_head_;
  }

  /// Removes the part that was sent, so that the queue does not grow by it. To be called when the
  /// transport takes no more, or everything has been taken.
  void compact() {
    if (!empty()) {
      drop(octets_, head_);
      drop(messages_, messages_head_);
      return;
    }
    clear();
  }

 private:
  struct Entry {
    std::size_t size;
    Delivery delivery;
  };
  void clear() {
    octets_.clear();
    messages_.clear();
    head_ = messages_head_ = 0;
    if (octets_.capacity() > kKeepOutput) {
      octets_.shrink_to_fit();
      messages_.shrink_to_fit();
    }
  }
  template <class T>
  static void drop(std::vector<T>& values, std::size_t& count) {
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    count = 0;
  }

  Boundaries boundaries_;
  std::vector<std::byte> octets_;  ///< messages in sequence
  std::vector<Entry> messages_;
  std::size_t head_ = 0;           ///< octets that have been taken
  std::size_t messages_head_ = 0;  ///< messages that have been taken
};

}  // namespace simco::net
