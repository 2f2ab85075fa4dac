#include "tests/support/figures.hpp"

namespace simco::test {

std::vector<FigureCase> figure_cases() {
  const AddressTuple a0 = ipv4(Location::kInternal, {10, 0, 0, 5}, 5004);
  const AddressTuple a1 = ipv4(Location::kInside, {192, 0, 2, 7}, 6000);
  const AddressTuple a2 = ipv4(Location::kOutside, {10, 0, 0, 5}, 5004);
  const AddressTuple a3 = ipv4(Location::kExternal, {192, 0, 2, 7}, 6000);
  const std::string a0_hex = "0009 000c 01 20 11 00 138c 0002 0a000005 ";
  const std::string a1_hex = "0009 000c 01 20 11 01 1770 0002 c0000207 ";
  const std::string a2_hex = "0009 000c 01 20 11 02 138c 0002 0a000005 ";
  const std::string a3_hex = "0009 000c 01 20 11 03 1770 0002 c0000207 ";
  const PerParameterSet both{PortParity::kSame, Direction::kBidirectional};
  const auto challenge = Challenge{OctetsView::of("wxyz!")};
  const auto token = Token{OctetsView::of("tok")};
  const auto owner = Owner{OctetsView::of("proxy")};
  Capabilities napt;
  napt.packet_filter = napt.nat = napt.disable_rules = napt.port_translation = true;
  napt.internal_wildcards = napt.port_wildcards = true;
  napt.internal_versions = 3;
  napt.external_versions = 1;
  napt.lifetime_max_s = 3600;
  const PrrParameterSet reserve{
      NatMode::kTwice,           ReservedParity::kEven, RequestedIpVersion::kIpv4,
      RequestedIpVersion::kIpv6, kProtocolUdp,          2};
  return {
      {"figure15-bfm", "04 01 0000 00000001", {{1}, BfmNotification{}}},
      {"figure16-wrong-basic-type",
       "03 10 0000 00000002",
       {{2}, NegativeReply{NegativeReplyCode::kWrongBasicType, {}}}},
      {"figure17-se-request", "01 01 0008 00000003 0001 0004 03 00 0000", {{3}, SeRequest{}}},
      {"figure17-se-request-challenge",
       "01 01 0011 00000004 0001 0004 03 00 0000 0002 0005 7778797a21",
       {{4}, SeRequest{{3, 0}, challenge}}},
      {"figure18-se-reply",
       "02 01 000c 00000003 0004 0008 d1 ad 0000 00000e10",
       {{3}, SeReply{napt}}},
      {"figure19-sa-reply-both",
       "02 02 0010 00000004 0002 0005 7778797a21 0003 0003 746f6b",
       {{4}, SaReply{challenge, token}}},
      {"figure19-sa-reply-empty-token",
       "02 02 0004 00000004 0003 0000",
       {{4}, SaReply{{}, Token{}}}},
      {"figure20-sa-request", "01 02 0007 00000005 0003 0003 746f6b", {{5}, SaRequest{token}}},
      {"figure20-sa-request-plain", "01 02 0000 00000005", {{5}, SaRequest{}}},
      {"figure21-st-request", "01 03 0000 00000006", {{6}, StRequest{}}},
      {"figure21-st-reply", "02 03 0000 00000006", {{6}, StReply{}}},
      {"figure22a-version-mismatch",
       "03 22 0008 00000007 0001 0004 03 00 0000",
       {{7}, NegativeReply{NegativeReplyCode::kVersionMismatch, kProtocolVersion}}},
      {"figure22b-lack-of-resources",
       "03 21 0000 00000007",
       {{7}, NegativeReply{NegativeReplyCode::kLackOfResources, {}}}},
      {"section5.2.7-ast", "04 02 0000 00000008", {{8}, AstNotification{}}},
      {"figure23-prr-request",
       "01 11 0018 00000009 000a 0004 a6 11 0002 0007 0004 00000078 0006 0004 00000021",
       {{9}, PrrRequest{reserve, {120}, GroupId{0x21}}}},
      {"figure24-per-request",
       "01 12 0030 0000000a 000b 0004 03 03 0000 " + a0_hex + a3_hex + "0007 0004 00000078",
       {{10}, PerRequest{both, a0, a3, {120}, {}}}},
      {"figure24-per-request-group",
       "01 12 0038 0000000a 000b 0004 03 03 0000 " + a0_hex + a3_hex +
           "0007 0004 00000078 0006 0004 00000021",
       {{10}, PerRequest{both, a0, a3, {120}, GroupId{0x21}}}},
      {"figure24-per-request-ipv6",
       "01 12 0048 0000000b 000b 0004 00 01 0000 "
       "0009 0018 02 80 11 00 1388 0002 20010db8 00000000 00000000 00000005 "
       "0009 0018 02 80 11 03 1770 0002 20010db8 00000000 00000000 00000007 0007 0004 0000000a",
       {{11},
        PerRequest{{PortParity::kAny, Direction::kInbound},
                   ipv6(Location::kInternal, 5, 5000),
                   ipv6(Location::kExternal, 7, 6000),
                   {10},
                   {}}}},
      {"figure24-per-request-protocols-only",
       "01 12 0028 0000000b 000b 0004 00 02 0000 " + a0_hex +
           "0009 0004 11 00 11 03 0007 0004 0000000a",
       {{11},
        PerRequest{{PortParity::kAny, Direction::kOutbound},
                   a0,
                   protocols_only(Location::kExternal, kProtocolUdp),
                   {10},
                   {}}}},
      {"figure25-pea-request",
       "01 13 0038 0000000c 000b 0004 03 03 0000 " + a0_hex + a3_hex +
           "0007 0004 00000078 0005 0004 00000011",
       {{12}, PeaRequest{both, a0, a3, {120}, {0x11}}}},
      {"figure26-plc-request",
       "01 15 0010 0000000d 0005 0004 00000011 0007 0004 0000003c",
       {{13}, PlcRequest{{0x11}, {60}}}},
      {"figure27-prs-request",
       "01 21 0008 0000000e 0005 0004 00000011",
       {{14}, PrsRequest{{0x11}}}},
      {"figure28-prl-request", "01 22 0000 0000000f", {{15}, PrlRequest{}}},
      {"figure29-pdr-request",
       "01 14 0028 00000010 " + a0_hex + a3_hex + "0007 0004 00000078",
       {{16}, PdrRequest{a0, a3, {120}}}},
      {"figure30-prr-reply",
       "02 11 0028 00000009 0005 0004 00000011 0006 0004 00000021 0007 0004 00000078 " + a2_hex,
       {{9}, PrrReply{{0x11}, {0x21}, {120}, a2, {}}}},
      {"figure30-prr-reply-twice",
       "02 11 0038 00000009 0005 0004 00000011 0006 0004 00000021 0007 0004 00000078 " + a2_hex +
           a1_hex,
       {{9}, PrrReply{{0x11}, {0x21}, {120}, a2, a1}}},
      {"figure31-per-reply",
       "02 12 0038 0000000a 0005 0004 00000011 0006 0004 00000021 0007 0004 00000078 " + a2_hex +
           a1_hex,
       {{10}, PerReply{{0x11}, {0x21}, {120}, a2, a1}}},
      {"figure31-per-reply-traditional-nat",
       "02 12 0028 0000000a 0005 0004 00000011 0006 0004 00000021 0007 0004 00000078 " + a2_hex,
       {{10}, PerReply{{0x11}, {0x21}, {120}, a2, {}}}},
      {"figure32-plc-reply", "02 15 0008 0000000d 0007 0004 0000003c", {{13}, PlcReply{{60}}}},
      {"figure33-prd-reply", "02 16 0000 0000000d", {{13}, PrdReply{}}},
      {"figure34-prs-reply",
       "02 21 0031 0000000e 0005 0004 00000011 0006 0004 00000021 0007 0004 00000078 " + a2_hex +
           "0008 0005 70726f7879",
       {{14}, PrsReply{{0x11}, {0x21}, {120}, a2, {}, owner}}},
      {"figure35-pes-reply",
       "02 23 0069 0000000e 0005 0004 00000011 0006 0004 00000021 000b 0004 03 03 0000 " + a0_hex +
           a1_hex + a2_hex + a3_hex + "0007 0004 00000078 0008 0005 70726f7879",
       {{14}, PesReply{{0x11}, {0x21}, both, a0, a1, a2, a3, {120}, owner}}},
      {"figure36-pds-reply",
       "02 24 0039 0000000e 0005 0004 00000011 " + a0_hex + a3_hex +
           "0007 0004 00000078 0008 0005 70726f7879",
       {{14}, PdsReply{{0x11}, a0, a3, {120}, owner}}},
      {"figure37-prl-reply",
       "02 22 0010 0000000f 0005 0004 00000011 0005 0004 00000012",
       {{15}, PrlReply{{{0x11}, {0x12}}}}},
      {"figure37-prl-reply-empty", "02 22 0000 0000000f", {{15}, PrlReply{}}},
      {"figure38-pdr-reply",
       "02 14 0010 00000010 0005 0004 00000011 0007 0004 00000078",
       {{16}, PdrReply{{0x11}, {120}}}},
      {"figure39-no-such-rule",
       "03 43 0000 00000011",
       {{17}, NegativeReply{NegativeReplyCode::kNoSuchRule, {}}}},
      {"figure40-are",
       "04 03 0010 00000012 0005 0004 00000011 0007 0004 00000000",
       {{18}, AreNotification{{0x11}, {0}}}},
  };
}

}  // namespace simco::test
