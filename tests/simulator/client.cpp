#include "tests/simulator/client.hpp"

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/wire/codec.hpp"
#include "tests/simulator/fault.hpp"
#include "tests/simulator/model.hpp"

namespace simco::simulator {

std::shared_ptr<ObservedChannel> Client::connect(std::uint32_t number, test::Scheduler& scheduler,
                                                 const test::MemoryPath& path, const Proof& proof,
                                                 std::vector<Sent>& record) {
  drop();
  auto [own, theirs] = test::MemoryChannel::make_pair(scheduler, path);
  proof_ = proof;
  if (proof.kind == Proof::Kind::kCertificate) theirs->set_certified_names({who});
  other_ = std::make_shared<ObservedChannel>(number, std::move(theirs), record);
  own_ = std::move(own);
  ended_ = false;
  session = number;
  own_->start(*this, {kMessageFramer});
  return other_;
}

void Client::open(TransactionId se, TransactionId sa) {
  sa_ = sa;
  SeRequest request{{3, 0}, {}};
  // It need not be a secret here, only another one each time.
  challenge_.fill(static_cast<std::byte>(se.value));
  if (proof_.mutual) request.challenge = Challenge{{challenge_}};
  send(se, request);
}

net::Flow Client::on_message(std::span<const std::byte> octets, net::Delivery) {
  const auto message = decode(octets);
  demand(message.has_value(), "an agent has got what is not a message");
  if (const auto* reply = std::get_if<SaReply>(&message->body)) answer(*reply);
  return net::Flow::kContinue;
}

void Client::answer(const SaReply& reply) {
  demand(reply.token.has_value() == proof_.mutual, "a token, or none, that was not asked for");
  if (reply.token) {
    demand(check_middlebox_token(reply.token->octets, test::Model::kMiddleboxSecret, challenge_),
           "a middlebox that cannot authenticate");
  }
  demand(reply.challenge.has_value(), "no challenge for an agent without a certificate");
  const bool right = proof_.kind == Proof::Kind::kSecret;
  const auto token = make_agent_token({who, right ? test::Model::secret_of(who) : "guessed"},
                                      reply.challenge->octets);
  send(sa_, SaRequest{Token{{token}}});
}

bool Client::send(TransactionId tid, const Body& body) {
  if (!connected() || !simco::send(*own_, tid, body)) return false;
  own_->flush();
  return true;
}

void Client::close() { own_->close(); }

void Client::drop() {
  if (own_ != nullptr && !ended_) own_->detach();
  own_.reset();
  other_.reset();
  session = 0;
}

}  // namespace simco::simulator
