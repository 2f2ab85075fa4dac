// Passes messages between channel and session, gives requests to the commit pipeline, and limits
// the cost of a peer: input per turn, requests in progress, and output that it does not read.
#include "middlebox/core/connection.hpp"

#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/limits.hpp"

namespace simco::middlebox {
namespace {

Candidate candidate_of(const net::MessageChannel& channel, Require require) {
  Candidate candidate;
  candidate.peer = channel.peer_address();
  candidate.endpoint = channel.peer_endpoint();
  const auto without_zone = std::string_view(candidate.peer).substr(0, candidate.peer.find('%'));
  candidate.address = parse_address(without_zone).value_or(candidate.address);
  candidate.require = require;
  candidate.certified_names = channel.certified_names();
  return candidate;
}

}  // namespace

Connection::Connection(std::uint64_t number, Owner& owner, AdmissionControl& admission,
                       CommitPipeline& pipeline, OutputBudget& output,
                       std::shared_ptr<net::MessageChannel> channel, Require require,
                       const MiddleboxSession::Options& options)
    : number_(number),
      owner_(owner),
      admission_(admission),
      pipeline_(pipeline),
      channel_(std::move(channel)),
      candidate_(candidate_of(*channel_, require)),
      session_(options, *this, owner.now()),
      output_(output) {}

Connection::~Connection() { channel_->detach(); }

void Connection::start() {
  // Before a session is open, a connection holds no more than the longest SE request.
  channel_->start(*this, {kMessageFramer, kSessionControlSizeMax});
  arm();
}

// --- Input -------------------------------------------------------------------------------------

net::Flow Connection::on_message(std::span<const std::byte> message, net::Delivery) {
  take_turn();
  session_.on_message(message);
  if (session_.leaving()) return net::Flow::kStop;
  const bool must_yield = input_.must_look(message) && owner_.turn_used_up();
  if (!must_yield && !held_up()) return net::Flow::kContinue;
  input_.pause();
  return net::Flow::kPause;
}

void Connection::on_malformed(net::FramingError error) {
  take_turn();
  log_once(to_string(error));
  session_.on_malformed();
}

void Connection::on_input_done(std::optional<std::chrono::nanoseconds> unfinished) {
  take_turn();
  session_.on_octets(unfinished.has_value(),
                     owner_.now() - unfinished.value_or(std::chrono::nanoseconds(0)));
  arm();
  end_turn();
  resume_if_possible();
}

bool Connection::held_up() const {
  // Messages behind an SA that is held back wait for its outcome.
  return channel_->queued() > net::kOutputHighWater || session_.in_flight() >= kInFlightMax ||
         session_.holding();
}

void Connection::resume_if_possible() {
  if (!input_.paused() || held_up()) return;
  input_.resume();
  channel_->resume_input();
}

// --- Output ------------------------------------------------------------------------------------

void Connection::send(TransactionId tid, const Body& body) {
  if (const auto* refusal = std::get_if<NegativeReply>(&body); refusal != nullptr && !replying_) {
    if (!agent_) owner_.session_refused(refusal->code);
    owner_.message_refused(*this, refusal->code);
  }
  flush_later();
  // Notifications pile up.
  if (!simco::send(*channel_, tid, body)) give_up("output queue full: the peer does not read");
}

void Connection::flush_later() {
  if (!std::exchange(flush_wanted_, true)) owner_.flush_later(*this);
}

void Connection::give_up(std::string_view why) {
  log_once(why);
  session_.cut_off();
}

void Connection::flush() {
  flush_wanted_ = false;
  if (output_.ended()) return;
  channel_->flush();
  output_.set(channel_->queued());
  if (output_.too_large()) {
    give_up("output queues of all peers full: this peer does not read and exceeds its share");
  }
  if (close_wanted_) return channel_->close();
  resume_if_possible();
}

void Connection::on_output_drained() {
  const Turn turn(owner_);
  output_.set(0);
  resume_if_possible();
}

void Connection::reply(TransactionId tid, const Body& body) {
  const bool outer = std::exchange(replying_, true);
  session_.reply(tid, body);
  replying_ = outer;
}

void Connection::notify(const policy::RuleEvent& event) {
  session_.notify(event.pid, event.lifetime, event.creating_tid);
}

bool Connection::output_full() const {
  return !output_.ended() && !session_.leaving() && channel_->queued() > net::kOutputHighWater;
}

// --- Session -----------------------------------------------------------------------------------

void Connection::execute(TransactionId tid, const Body& request) {
  pipeline_.submit(*this, tid, request, owner_.now());
}

MiddleboxSession::Admission Connection::admit(bool challenged) {
  return admission_.admit(candidate_, challenged);
}

std::vector<std::byte> Connection::answer_challenge(std::span<const std::byte> challenge) {
  return admission_.answer_challenge(challenge);
}

MiddleboxSession::AuthResult Connection::verify(const std::optional<ChallengeOctets>& challenge,
                                                const std::optional<Token>& token) {
  return admission_.verify(candidate_, challenge, token, owner_.now());
}

Capabilities Connection::opened() {
  channel_->set_hold_limit(kMessageSizeMax);
  const auto& name = candidate_.name;
  agent_ = {owner_.acquire(name.empty() ? policy::anonymous_name(candidate_.peer) : name), 0};
  const auto told = owner_.session_opened(*this);
  agent_->lifetime_max_s = told.lifetime_max_s;
  return told;
}

void Connection::close() {
  close_wanted_ = true;
  flush_later();
}

void Connection::arm() {
  if (const auto deadline = session_.deadline()) owner_.wake_at(*this, *deadline);
}

void Connection::on_deadline() {
  const auto due = session_.deadline();
  if (due && *due <= owner_.now() && !session_.holding()) {
    log_once("timed out in the middle of a message or without opening a session");
  }
  session_.on_deadline(owner_.now());
  arm();
}

void Connection::verify_now() {
  if (!session_.holding()) return;
  session_.on_deadline(*session_.deadline());
  arm();
}

void Connection::cut() {
  logged_ = true;
  channel_->reset();
  on_closed({});
}

void Connection::on_closed(const boost::system::error_code& reason) {
  take_turn();
  if (reason && !session_.leaving()) log_once(reason.message());
  session_.connection_lost();
  output_.end();
  owner_.connection_over(*this);
  end_turn();
}

void Connection::log_once(std::string_view what) {
  if (std::exchange(logged_, true)) return;
  owner_.warn_about(candidate_.endpoint, what);
}

}  // namespace simco::middlebox
