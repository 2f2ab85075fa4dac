// Asks by ioctl(), which needs no privileges.
#include "middlebox/backend/fastpath/device.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

namespace simco::backend::fastpath {
namespace {

bool ask_device(unsigned long what, const std::string& interface, ifreq& request) {
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool answered = ::ioctl(socket, what, &request) == 0;
  ::close(socket);
  return answered;
}

bool ask_ethtool(const std::string& interface, void* command) {
  ifreq request{};
  request.ifr_data = static_cast<char*>(command);
  return ask_device(SIOCETHTOOL, interface, request);
}

/// A command of ethtool, followed by `count` further elements; words, for the alignment.
template <class Command, class Element>
struct WithElements {
  explicit WithElements(std::size_t count)
      : words((sizeof(Command) + count * sizeof(Element)) / sizeof(std::uint32_t) + 1) {}
  Command* operator->() { return reinterpret_cast<Command*>(words.data()); }
  Element* elements() { return reinterpret_cast<Element*>(operator->() + 1); }
  std::vector<std::uint32_t> words;
};

using Name = std::array<char, ETH_GSTRING_LEN>;

/// The names of all features, by their numbers; empty if the kernel does not tell.
std::vector<Name> feature_names(const std::string& interface) {
  WithElements<ethtool_sset_info, std::uint32_t> sizes(1);
  sizes->cmd = ETHTOOL_GSSET_INFO;
  sizes->sset_mask = 1ULL << ETH_SS_FEATURES;
  if (!ask_ethtool(interface, sizes.words.data()) || sizes->sset_mask == 0) return {};
  const std::uint32_t count = *sizes.elements();
  WithElements<ethtool_gstrings, Name> names(count);
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_FEATURES;
  names->len = count;
  if (!ask_ethtool(interface, names.words.data())) return {};
  return {names.elements(), names.elements() + count};
}

}  // namespace

std::optional<std::array<std::uint8_t, 6>> hardware_address(const std::string& interface) {
  ifreq request{};
  if (!ask_device(SIOCGIFHWADDR, interface, request)) return std::nullopt;
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) return std::nullopt;
  std::array<std::uint8_t, 6> address{};
  std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
  return address;
}

bool is_veth(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  return ask_ethtool(interface, &info) && std::string_view(info.driver) == "veth";
}

std::optional<bool> has_feature(const std::string& interface, std::string_view feature) {
  const auto names = feature_names(interface);
  const auto found =
      std::ranges::find_if(names, [&](const Name& name) { return feature == name.data(); });
  if (names.empty()) return std::nullopt;
  if (found == names.end()) return false;
  const std::size_t bits = std::numeric_limits<std::uint32_t>::digits;  // of a block
  const auto number = static_cast<std::size_t>(found - names.begin());
  const std::size_t blocks = (names.size() + bits - 1) / bits;
  WithElements<ethtool_gfeatures, ethtool_get_features_block> features(blocks);
  features->cmd = ETHTOOL_GFEATURES;
  features->size = static_cast<std::uint32_t>(blocks);
  if (!ask_ethtool(interface, features.words.data())) return std::nullopt;
  return (features.elements()[number / bits].active >> number % bits & 1) != 0;
}

}  // namespace simco::backend::fastpath
