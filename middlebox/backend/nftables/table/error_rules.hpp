// The chains that judge ICMP errors by the packets that they are about.
#pragma once

#include <string>

#include "middlebox/backend/nftables/table/chain_writer.hpp"

namespace simco::backend::nftables {

/// Leads ICMP from one side, in the chain `from`, to the chain `errors`, and writes the latter.
void write_error_rules(const ChainWriter& writer, IpVersion version, bool outside,
                       const std::string& from, const std::string& errors);

}  // namespace simco::backend::nftables
