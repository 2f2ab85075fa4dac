#include "middlebox/connection.hpp"

#include <utility>

#include "middlebox/limits.hpp"
#include "simco/net/limits.hpp"

namespace simco::middlebox {

Connection::Connection(Owner& owner, std::shared_ptr<net::MessageChannel> channel,
                       const boost::asio::any_io_executor& executor,
                       const MiddleboxSession::Options& options)
    : owner_(owner),
      channel_(std::move(channel)),
      timer_(executor),
      session_(options, *this, owner.now()),
      peer_(channel_->peer_address()),
      certified_names_(channel_->certified_names()) {
  // An address with a zone counts without it.
  address_ = parse_address(std::string_view(peer_).substr(0, peer_.find('%'))).value_or(address_);
}

Connection::~Connection() { channel_->detach(); }

void Connection::start() {
  // Before a session is open, nobody costs more than the longest SE request.
  channel_->set_hold_limit(kSessionControlSizeMax);
  channel_->start(*this);
  arm_timer();
}

// --- Input -------------------------------------------------------------------------------------

net::Flow Connection::on_message(std::span<const std::byte> message, net::Delivery) {
  session_.on_message(message);
  if (session_.leaving()) return net::Flow::kStop;
  if (!must_yield(message) && !held_up()) return net::Flow::kContinue;
  paused_ = true;
  return net::Flow::kPause;
}

// The clock is read after what may have taken long, and now and then.
bool Connection::must_yield(std::span<const std::byte> message) {
  const auto type = static_cast<SubType>(message[1]);
  const bool heavy = type == SubType::kPrl || type == SubType::kPdr;
  return (heavy || ++messages_ % kMessagesPerLook == 0) && owner_.turn_used_up();
}

void Connection::on_malformed(DecodeError error) {
  log_once(to_string(error));
  session_.on_malformed();
}

void Connection::on_input_done(bool mid_message) {
  session_.on_octets(mid_message, owner_.now());
  arm_timer();
  owner_.end_turn();
  resume_if_possible();
}

bool Connection::held_up() const {
  // What follows an SA that is held back waits for what becomes of it.
  return channel_->queued() > net::kOutputHighWater || session_.in_flight() >= kInFlightMax ||
         session_.holding();
}

void Connection::resume_if_possible() {
  if (!paused_ || held_up()) return;
  paused_ = false;
  channel_->resume_input();
}

// --- Output ------------------------------------------------------------------------------------

void Connection::send(TransactionId tid, const Body& body) {
  if (const auto* refusal = std::get_if<NegativeReply>(&body); refusal != nullptr && !agent_) {
    owner_.session_refused(refusal->code);
  }
  owner_.mark_dirty(*this);
  if (!channel_->send(tid, body)) {
    give_up("output queue is full, peer does not read");  // notifications pile up
  }
}

void Connection::give_up(std::string_view why) {
  log_once(why);
  session_.cut_off();
}

void Connection::count_output(std::size_t queued) {
  if (queued == output_) return;
  owner_.output_changed(static_cast<std::ptrdiff_t>(queued) - static_cast<std::ptrdiff_t>(output_));
  output_ = queued;
}

void Connection::flush() {
  // What a channel that is closed has left in its queue counts no more.
  if (over_) return;
  channel_->flush();
  count_output(channel_->queued());
  if (output_ > kOutputShare && owner_.too_much_output()) {
    give_up("peers do not read, and this one has more than its share of what waits for them");
  }
  if (close_wanted_) return channel_->close();
  resume_if_possible();
}

void Connection::on_output_drained() {
  count_output(0);
  resume_if_possible();
}

void Connection::notify(const policy::RuleEvent& event) {
  session_.notify(event.pid, event.lifetime, event.creating_tid);
}

// --- Session -----------------------------------------------------------------------------------

void Connection::execute(TransactionId tid, const Body& request) {
  owner_.submit(*this, tid, request);
}

MiddleboxSession::Welcome Connection::welcome(bool challenged) {
  return owner_.welcome(*this, challenged);
}

std::vector<std::byte> Connection::prove(std::span<const std::byte> challenge) {
  return owner_.prove(challenge);
}

MiddleboxSession::Judgement Connection::judge(const std::optional<ChallengeOctets>& challenge,
                                              const std::optional<Token>& token) {
  return owner_.judge(*this, challenge, token);
}

Capabilities Connection::opened() {
  channel_->set_hold_limit(kMessageSizeMax);
  const auto told = owner_.session_opened(*this);
  lifetime_max_s_ = told.lifetime_max_s;
  return told;
}

void Connection::close() {
  close_wanted_ = true;
  owner_.mark_dirty(*this);
}

// One timer per connection, armed for the earliest wish and never moved back: most wishes are gone
// again before they are due, and then it finds nothing to do.
void Connection::arm_timer() {
  const auto deadline = session_.deadline();
  if (!deadline || (timer_at_ && *timer_at_ <= *deadline)) return;
  timer_at_ = deadline;
  timer_.expires_at(std::chrono::time_point_cast<boost::asio::steady_timer::duration>(*deadline));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    timer_at_.reset();
    const auto due = session_.deadline();
    if (due && *due <= owner_.now() && !session_.holding()) {
      log_once("timed out in the middle of a message or without opening a session");
    }
    session_.on_deadline(owner_.now());
    arm_timer();
    owner_.end_turn();
  });
}

void Connection::hurry() {
  if (!session_.holding()) return;
  session_.on_deadline(*session_.deadline());
  arm_timer();
}

void Connection::cut() {
  logged_ = true;
  channel_->detach();
  on_closed({});
}

void Connection::on_closed(const boost::system::error_code& reason) {
  if (reason && !session_.leaving()) log_once(reason.message());
  session_.connection_lost();
  timer_.cancel();
  count_output(0);
  over_ = true;
  owner_.connection_over(*this);
}

void Connection::log_once(std::string_view what) {
  if (std::exchange(logged_, true)) return;
  owner_.warn_about(peer_, what);
}

}  // namespace simco::middlebox
