#include "middlebox/backend/fastpath/links.hpp"

#include <net/if.h>

#include <algorithm>

#include "middlebox/backend/fastpath/device.hpp"
#include "middlebox/backend/fastpath/premises.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::fastpath {
namespace {

Side other(Side side) { return side == Side::kInternal ? Side::kExternal : Side::kInternal; }

}  // namespace

void Links::look(const std::optional<std::string>& more) {
  for (const Side side : kSides) {
    if (!on_ || !is_lost(side)) continue;
    log::warn("fast path: interface {} is gone or replaced, and its link with it", name_of(side));
    program_.unlink();
    on_ = false;
  }
  const auto why = more ? more : obstacle();
  if (why) {
    program_.unlink();
    if (said_ != why) log::warn("fast path: off, nftables handles all packets: {}", *why);
  } else if (!on_) {
    program_.open();
    log::info("fast path: on, between {} and {}", options_.internal_if, options_.external_if);
  }
  on_ = !why;
  said_ = why;
}

bool Links::is_lost(Side side) const {
  const auto index = ::if_nametoindex(name_of(side).c_str());
  return index == 0 || program_.linked(side) != index;
}

bool Links::introduce(Side side) {
  const auto address = hardware_address(name_of(side));
  if (!address) return false;
  program_.set_address(side, *address);
  return true;
}

std::optional<std::string> Links::obstacle() {
  for (const Side side : kSides) {
    if (!introduce(side)) return "there is no Ethernet interface " + name_of(side);
  }
  if (auto premise = unmet_premise(options_.internal_if, options_.external_if)) return premise;
  if (on_) return unable_to_send();
  const Instant now = options_.now();
  if (now < retry_at_) return refused_;
  refused_ = link();
  retry_at_ = refused_ ? now + retry_after_ : Instant{};
  if (refused_)
    log::debug("fast path: refused, again in {} s: {}", retry_after_.count(), *refused_);
  retry_after_ = refused_ ? std::min(2 * retry_after_, kRetryMax) : kRetryFirst;
  return refused_;
}

std::optional<std::string> Links::link() {
  // Linking may interrupt a network card, which must not happen repeatedly because of the other
  // card.
  for (const Side side : {first_, other(first_)}) {
    if (const auto refused = program_.link(side, ::if_nametoindex(name_of(side).c_str()))) {
      first_ = side;
      return name_of(side) + ": " + *refused;
    }
    log::debug("fast path: {} linked", name_of(side));
  }
  return unable_to_send();  // some drivers are able to only with a program there
}

std::optional<std::string> Links::unable_to_send() const {
  for (const Side side : kSides) {
    if (auto reason = cannot_send(name_of(side))) return reason;
  }
  return std::nullopt;
}

}  // namespace simco::backend::fastpath
