// Ports of the machine itself that no packet from another machine reaches without a rule.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simco/packet/rule_match.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::backend::nftables {

/// Local ports of one protocol.
using Guard = ProtocolPorts;

/// Reads each guard as parse_protocol_ports() does. Returns a complaint if one is none.
std::expected<std::vector<Guard>, std::string> parse_guards(const std::vector<std::string>& words);

/// The guards as parse_guards() reads them, separated by commas: as many as `octets` have room for.
std::string guard_text(const std::vector<Guard>& guards, std::size_t octets = SIZE_MAX);

/// Whether a rule lets packets from outside pass.
using LetsPass = std::function<bool(const packet::Packet&)>;

/// Returns the open TCP connection from a machine of `administrators` that `guards` would cut, as a
/// phrase; nothing if there is none. `in_force` is guard_text() of the guards that are in the
/// kernel already: these cut none.
std::optional<std::string> connection_at(
    const std::vector<Guard>& guards, const std::string& in_force,
    const std::vector<boost::asio::ip::address>& administrators, const LetsPass& lets_pass);

/// Returns a warning if the kernel may give sockets of this machine a guarded port, which replies
/// would not reach.
std::optional<std::string> ephemeral_ports_in(const std::vector<Guard>& guards);

}  // namespace simco::backend::nftables
