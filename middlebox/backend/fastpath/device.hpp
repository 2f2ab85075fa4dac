// Properties of a network interface.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simco::backend::fastpath {

/// Returns the hardware address of an interface; nullopt if it is gone or has none of 6 octets.
std::optional<std::array<std::uint8_t, 6>> hardware_address(const std::string& interface);

/// Returns whether it belongs to a pair of interfaces between two network namespaces.
bool is_veth(const std::string& interface);

/// Returns whether a feature that `ethtool -k` lists, by the kernel's name of it, is active;
/// nullopt if the kernel does not tell.
std::optional<bool> has_feature(const std::string& interface, std::string_view feature);

}  // namespace simco::backend::fastpath
