// Writes the fuzzers' seeds from the RFC's figures, each named for what it is.
#include <filesystem>
#include <fstream>

#include "simco/session/authentication.hpp"
#include "tests/support/figures.hpp"

namespace {

using simco::test::Octets;

void write(const std::filesystem::path& path, const Octets& octets) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(octets.data()),
             static_cast<std::streamsize>(octets.size()));
}

/// `message` as the stream fuzzer reads it: pieces of at most 127 octets, each with its length.
Octets pieces(const Octets& message) {
  Octets result;
  for (std::size_t at = 0; at < message.size(); at += 127) {
    const auto piece = std::min<std::size_t>(127, message.size() - at);
    result.push_back(static_cast<std::byte>(0x80 | piece));
    result.insert(result.end(), message.begin() + static_cast<std::ptrdiff_t>(at),
                  message.begin() + static_cast<std::ptrdiff_t>(at + piece));
  }
  return result;
}

/// A call from its reservation to the attack that ends it, as the stream fuzzer reads it.
Octets call() {
  using simco::test::concat;
  using simco::test::encoded;
  using namespace simco;
  PrrRequest reserve;
  reserve.parameters = {NatMode::kTraditional,     ReservedParity::kEven, RequestedIpVersion::kAny,
                        RequestedIpVersion::kIpv4, kProtocolUdp,          2};
  reserve.lifetime = {60};
  auto twice = reserve;
  twice.parameters.nat_mode = NatMode::kTwice;
  const auto open = test::pinhole();
  const PeaRequest enable{open.parameters, open.internal, open.external, open.lifetime, {1}};
  const PdrRequest block{test::protocols_only(Location::kInternal, 0),
                         test::protocols_only(Location::kExternal, 0),
                         {2}};
  const Octets done = {std::byte{0x40}};
  Octets all;
  std::uint32_t tid = 1;
  for (const Body& body : std::initializer_list<Body>{
           reserve, twice, enable, test::pinhole(5006), test::pinhole(5008), PrsRequest{{1}},
           PlcRequest{{2}, {30}}, block, PrlRequest{}, PrsRequest{{3}}}) {
    all = concat({all, pieces(encoded({{++tid}, body})), done});
  }
  return concat({all, done, done, {std::byte{0x3F}}, done, done});
}

/// Something that happens, as the fuzzer of QUIC reads it: what, and the octets for it.
Octets happening(std::uint8_t what, const Octets& octets) {
  return simco::test::concat(
      {{static_cast<std::byte>(what), static_cast<std::byte>(octets.size())}, octets});
}

/// What tests/fuzz/quic_fuzz.cpp makes of the first octet.
enum Happening : std::uint8_t {
  kPacket = 0x00,
  kPadded = 0x20,
  kForged = 0x40,
  kAct = 0x80,
  kSay = 0xA0,
  kStranger = 0x08,
};

void write_quic(const std::filesystem::path& folder) {
  using simco::test::concat;
  using simco::test::from_hex;
  const Octets start = {std::byte{0}};
  const Octets crowded = {std::byte{1}};
  std::uint8_t stream = 0;
  Octets everything = start;
  for (const auto& figure : simco::test::figure_cases()) {
    const auto octets = from_hex(figure.hex);
    if (octets.size() > 255) continue;
    everything = concat({everything, happening(kSay + stream++ % 16, octets)});
  }
  write(folder / "messages", everything);
  write(folder / "messages-closed", concat({everything, happening(kAct, {})}));
  write(folder / "half-messages", concat({start, happening(kSay, from_hex("01 11 0028 00000001")),
                                          happening(kSay + 1, from_hex("01 11 fff0 00000001"))}));
  const auto initial = from_hex("c0 00000001 08 0102030405060708 04 a1a2a3a4 00 449e");
  const auto foreign = from_hex("c0 0a0a0a0a 08 0102030405060708 04 a1a2a3a4 00 449e");
  const auto token =
      from_hex("c0 00000001 08 0102030405060708 04 a1a2a3a4 0a b6 08 0102030405060708 4490");
  for (const auto& [name, begin] : {std::pair{"free", start}, std::pair{"crowded", crowded}}) {
    Octets packets = begin;
    for (const auto& packet : {initial, foreign, token}) {
      packets = concat({packets, happening(kPadded + kStranger, packet)});
    }
    packets = concat({packets, happening(kPacket + kStranger, Octets(60, std::byte{0x41}))});
    write(folder / (std::string("packets-") + name), packets);
  }
  for (const auto* frames :
       {"0a 0a 01 00", "0a 02 08 0121000000000001", "0e 02 80100000 01 00", "04 02 00 00",
        "05 03 00", "1e", "02 01 00 00 00", "19 01",
        "18 05 00 08 0102030405060708 000102030405060708090a0b0c0d0e0f", "1a 0102030405060708",
        "1b 0101010101010101", "1c 00 00 00", "1d 00 00", "06 00 01 00", "01",
        "18 0a 0a 04 a1a2a3a4 000102030405060708090a0b0c0d0e0f"
        "18 01 00 04 a1a2a3a5 000102030405060708090a0b0c0d0e0f",
        "18 02 00 04 a1a2a3a6 000102030405060708090a0b0c0d0e0f 1a 0102030405060708",
        // Behind a stream that has ended, as the first octet of a packet may hide them.
        "0f 1a 00 00 21", "0f 1a 00 00 06 00 01 00",
        "0f 1a 00 00 18 01 00 04 a1a2a3a4 000102030405060708090a0b0c0d0e0f",
        "0f 1e 00 00 18 02 02 04 a1a2a3a5 000102030405060708090a0b0c0d0e0f",
        "0f 22 00 00 18 02 02 08 0303030303030303 03030303030303030303030303030303"
        "18 01 00 08 0202020202020202 02020202020202020202020202020202"
        "18 01 00 08 0202020202020202 02020202020202020202020202020202"}) {
    auto name = std::string("frames-") + frames;
    std::erase(name, ' ');
    const auto octets = from_hex(frames);
    write(folder / name.substr(0, 24),
          concat({start, happening(kForged, octets), happening(kForged + kStranger, octets),
                  happening(kAct + 6, {}), happening(kSay, from_hex("01 21 0000 00000001"))}));
  }
}

/// Of tests/fuzz/ngtcp2_guard_fuzz.cpp; the first octet is 1 for a packet of the handshake, 2 for
/// one that an agent reads.
void write_guard(const std::filesystem::path& folder) {
  for (const auto& [name, hex] : std::initializer_list<std::pair<const char*, const char*>>{
           {"identifier", "00 18 01 00 04 a1a2a3a4 000102030405060708090a0b0c0d0e0f"},
           {"retires", "00 18 0a 0a 04 a1a2a3a4 000102030405060708090a0b0c0d0e0f"},
           {"acknowledgement", "00 02 05 00 01 00 00 02"},
           {"acknowledgement-ecn", "00 03 05 00 00 00 01 02 03"},
           {"stream", "00 0a 02 03 616263 0e 06 4001 02 6162 0f 02 05 0161"},
           {"crypto", "01 06 00 03 010203 00"},
           {"crypto-after", "00 06 00 03 010203 00"},
           {"crypto-ticket", "02 06 00 03 010203 00"},
           {"crypto-far", "01 06 800fffff 01 61"},
           {"windows", "00 10 0a 11 02 05 12 05 13 05 14 05 15 02 05 16 05 17 05 19 01"},
           {"paths", "00 1a 0102030405060708 1b 0102030405060708"},
           {"close", "00 1c 01 02 03 6f6f6f"},
           {"close-user", "00 1d 01 02 6f6f"},
           {"token", "00 07 02 6162"},
           {"given-up", "00 04 02 00 03 05 03 00"},
           {"done", "00 1e 01 00 00"}}) {
    write(folder / name, simco::test::from_hex(hex));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path root = argv[1];
  write_quic(root / "quic");
  write_guard(root / "ngtcp2_guard");
  const Octets backend_done = {std::byte{0x40}};
  const Octets backend_refuses = {std::byte{0x41}};
  const Octets half_a_minute(2, std::byte{0x3F});
  const Octets session = {std::byte{1}};
  Octets everything = session;
  for (const auto& figure : simco::test::figure_cases()) {
    const auto octets = simco::test::from_hex(figure.hex);
    write(root / "decode" / figure.name, octets);
    if (octets[0] != std::byte{1}) continue;
    for (std::uint8_t state = 0; state < 3; ++state) {
      static constexpr const char* names[] = {"closed", "open", "noauth"};
      write(root / "stream" / (std::string(names[state]) + "-" + figure.name),
            simco::test::concat({{std::byte{state}}, pieces(octets), backend_done}));
    }
    if (octets[1] != std::byte{3}) everything = simco::test::concat({everything, pieces(octets)});
  }
  write(root / "stream" / "open-every-request", simco::test::concat({everything, backend_done}));
  write(root / "stream" / "open-refused-by-backend",
        simco::test::concat({everything, backend_refuses, half_a_minute, backend_refuses}));
  const auto per = pieces(simco::test::from_hex(
      "01 12 0030 0000000a 000b 0004 03 03 0000 0009 000c 01 20 11 00 138c 0002 0a000005 "
      "0009 000c 01 20 11 03 1770 0002 c0000207 0007 0004 00000003"));
  const auto plc =
      pieces(simco::test::from_hex("01 15 0010 0000000d 0005 0004 00000001 0007 0004 "
                                   "0000003c"));
  const auto plc_0 =
      pieces(simco::test::from_hex("01 15 0010 0000000e 0005 0004 00000001 0007 0004 "
                                   "00000000"));
  write(root / "stream" / "open-rule-expires",
        simco::test::concat({session, per, backend_done, half_a_minute, backend_done}));
  write(root / "stream" / "open-rule-changes-under-way",
        simco::test::concat({session, per, backend_done, plc, plc_0, plc, backend_done,
                             backend_done, backend_done}));
  // The first octet: state of the session, plus three times the kind of middlebox.
  const char* const modes[] = {"firewall", "nat", "twice-nat"};
  for (std::uint8_t mode = 0; mode < 3; ++mode) {
    write(root / "stream" / (std::string(modes[mode]) + "-open-call"),
          simco::test::concat({{static_cast<std::byte>(3 * mode + 1)}, call()}));
  }
  const simco::ChallengeOctets challenge{};
  const Octets a_second = {std::byte{4}};
  for (const char* secret : {"fuzz", "wrong"}) {
    const auto token = simco::make_agent_token({"agent", secret}, challenge);
    const auto sa = simco::test::encoded({{7}, simco::SaRequest{simco::Token{{token}}}});
    write(root / "stream" / (std::string("noauth-token-") + secret),
          simco::test::concat({{std::byte{2}}, pieces(sa), a_second, a_second, call()}));
  }
  write(root / "stream" / "open-half-a-message",
        simco::test::concat({session, pieces(simco::test::from_hex("01 21 0008 00000001 0005")),
                             half_a_minute, half_a_minute, half_a_minute}));
  write(root / "stream" / "open-impossible-length",
        simco::test::concat({session, pieces(simco::test::from_hex("01 22 0002 00000001"))}));
}
