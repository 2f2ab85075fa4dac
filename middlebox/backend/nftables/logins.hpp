// The machines from which somebody is logged in here.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <vector>

namespace simco::backend::nftables {

/// Returns their addresses, as systemd-logind knows them, and that of the SSH connection in which
/// this program was started. Sessions whose host is known by its name only are left out.
std::vector<boost::asio::ip::address> logged_in();

}  // namespace simco::backend::nftables
