#include "tests/simulator/client.hpp"

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"

namespace simco::simulator {

std::shared_ptr<ObservedChannel> Client::connect(std::uint32_t number, test::Scheduler& scheduler,
                                                 const test::MemoryPath& path,
                                                 std::vector<Sent>& record) {
  drop();
  auto [own, theirs] = test::MemoryChannel::make_pair(scheduler, path);
  theirs->set_certified_names({who});
  other_ = std::make_shared<ObservedChannel>(number, std::move(theirs), record);
  own_ = std::move(own);
  ended_ = false;
  session = number;
  own_->start(*this, {kMessageFramer});
  return other_;
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
