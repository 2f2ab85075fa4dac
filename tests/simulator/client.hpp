// An agent: connects, authenticates, makes random requests, reads slowly at times, and goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "simco/session/authentication.hpp"
#include "simco/wire/messages.hpp"
#include "tests/simulator/observed_channel.hpp"
#include "tests/support/memory_channel.hpp"

namespace simco::simulator {

/// The ways of an agent to authenticate.
struct Proof {
  enum class Kind : std::uint8_t { kCertificate, kSecret, kWrongSecret };
  Kind kind = Kind::kCertificate;
  /// SA: the middlebox must authenticate as well, with the secret of that name.
  bool mutual = false;

  bool genuine() const { return kind != Kind::kWrongSecret; }
};

/// An end of a connection to the middlebox, and the known state of the other.
class Client final : private net::ChannelHandler {
 public:
  Client(std::string name, bool audits) : who(std::move(name)), auditor(audits) {}
  ~Client() { drop(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// A new connection, whose session has that number. Returns the middlebox's end.
  std::shared_ptr<ObservedChannel> connect(std::uint32_t number, test::Scheduler& scheduler,
                                           const test::MemoryPath& path, const Proof& proof,
                                           std::vector<Sent>& record);
  /// Asks for a session with `se` and, if the middlebox wants a token, `sa`.
  void open(TransactionId se, TransactionId sa);
  /// Sends a message; false if it cannot, for the time being or for ever.
  bool send(TransactionId tid, const Body& body);
  /// The path breaks.
  void cut() { own_->cut(); }
  /// Orderly end by the agent, without a word.
  void close();
  /// Nothing more comes of the connection.
  void drop();
  void pause() { own_->pause_input(); }
  void resume() {
    if (connected()) own_->resume_input();
  }

  bool connected() const { return own_ != nullptr && !ended_; }
  /// The middlebox can send nothing more.
  bool middlebox_is_done() const { return other_ == nullptr || other_->over(); }

  const std::string who;
  const bool auditor;
  std::uint32_t session = 0;

 private:
  net::Flow on_message(std::span<const std::byte> octets, net::Delivery) override;
  void on_malformed(net::FramingError) override {}
  void on_input_done(std::optional<std::chrono::nanoseconds>) override {}
  void on_output_drained() override {}
  void on_closed(const boost::system::error_code&) override { ended_ = true; }
  void answer(const SaReply& reply);

  std::shared_ptr<test::MemoryChannel> own_;
  std::shared_ptr<ObservedChannel> other_;
  Proof proof_;
  ChallengeOctets challenge_{};
  TransactionId sa_;
  bool ended_ = false;
};

}  // namespace simco::simulator
