// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The fast path: forwards packets of exact UDP and UDP-Lite rules before the kernel's own stack
// sees them. Unknown and doubtful packets go to the stack, where nftables decides.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "slot.h"

#define AF_INET 2
#define AF_INET6 10
#define PLAIN_IPV4 0x45       // version 4, no options
#define FRAGMENT_BITS 0x3FFF  // more fragments, and the offset

enum side { INTERNAL, EXTERNAL };

// Written by the middlebox, while the program runs.
struct fp_interface interfaces[2];
__s64 lease_end = 0x7FFFFFFFFFFFFFFF;  // rules let nothing pass from then on
const volatile __u64 seed;
const volatile __u32 places = 1;  // where a search can begin; FP_PROBES_MAX more slots follow
const volatile __u8 counting = 0;  // by rule

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fp_slot4);
} slots4 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fp_slot6);
} slots6 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fp_tally);
} tallies4 SEC(".maps"), tallies6 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct fp_counts);
} counts SEC(".maps");

// The parsed headers of a packet of either IP version.
struct packet {
  struct xdp_md *context;
  void *data;
  void *end;
  enum side side;  // where it arrived
  __u8 half;       // last bit of the internal port
  __u32 index;     // of the slot that was found
  __u64 now;
};

static __always_inline struct fp_counts *own_counts(void) {
  __u32 first = 0;
  return bpf_map_lookup_elem(&counts, &first);
}

// --- Checksums: sums of 32-bit words as they lie in memory, folded at the end (RFC 1624)

static __always_inline __u16 fold(__u64 sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  return sum;
}

static __always_inline __u64 difference(__u32 before, __u32 after) {
  return (__u64)(__u32)~before + after;
}

static __always_inline __u16 corrected(__u16 check, __u64 differences) {
  return ~fold((__u16)~check + differences);
}

static __always_inline __u64 sum_of(const __u32 *words, int count) {
  __u64 sum = 0;
  for (int i = 0; i < count; i++) sum += words[i];
  return sum;
}

// --- UDP and UDP-Lite, which share the layout of their headers

// The length is the checksum's coverage in UDP-Lite, where 0 is all, and there must be a checksum.
static __always_inline int is_right(const struct udphdr *udp, __u8 protocol, __u16 octets) {
  __u16 length = bpf_ntohs(udp->len);
  if (protocol == IPPROTO_UDPLITE) {
    if (udp->check == 0) return 0;
    if (length == 0) return 1;
  }
  return length >= sizeof *udp && length <= octets;
}

// A sender on this machine leaves the checksum to a network card: there is the sum of the addresses
// and the length only. `pseudo`: that sum.
static __always_inline int is_unfinished(const struct udphdr *udp, __u8 protocol, __u64 pseudo) {
  if (protocol != IPPROTO_UDP || udp->check == 0) return 0;
  __u16 sum = fold(pseudo + bpf_htons(IPPROTO_UDP) + udp->len);
  return sum == udp->check;
}

static __always_inline void write_ports(struct udphdr *udp, __u8 protocol, __u16 source,
                                        __u16 target, __u64 differences) {
  differences += (__u16)~udp->source;
  differences += source;
  differences += (__u16)~udp->dest;
  differences += target;
  if (udp->check != 0 || protocol == IPPROTO_UDPLITE) {
    udp->check = corrected(udp->check, differences);
    if (udp->check == 0) udp->check = 0xFFFF;
  }
  udp->source = source;
  udp->dest = target;
}

// --- The decision

// The last word of the ends: bits of packets, and a slot's own bits.
union last_word {
  struct {
    __u16 ports[2];
    __u8 protocol, crossed, used, flags;
  };
  __u64 word;
};
static const union last_word compared = {
    .ports = {0xFFFF, 0xFFFF}, .protocol = 0xFF, .crossed = 0xFF};

// Reads when a half expires. Returns the slot again: later reads of it are at least as new, as
// their addresses depend on the value read. Some processors do not read in the order of the
// program, and BPF has no loads with acquire semantics before Linux 6.15.
static __always_inline __u64 *read_expires(__u64 *slot, int index, __s64 *expires) {
  *expires = *(volatile __s64 *)&slot[index];
  __u64 nothing = *expires;
  asm volatile("%0 &= 0" : "+r"(nothing) : : "memory");
  return (__u64 *)((char *)slot + nothing);
}

// Returns the slot of those ends by which a rule lets the packet pass, now. `words`: of the ends,
// which are the beginning of a slot, before its lifetimes. The lifetime is read first: if it is a
// rule's, so are the ends and all the rest, which were stored before it. Read the other way round,
// the ends could still be those of the rule before.
static __always_inline void *find(void *slots, __u32 place, const __u64 *ends, int words,
                                  struct packet *packet) {
  if (*(volatile __s64 *)&lease_end <= (__s64)packet->now) return 0;
  __u8 way = packet->side == EXTERNAL ? FP_INBOUND : FP_OUTBOUND;
  if (packet->half) way <<= 2;
  for (int i = 0; i < FP_PROBES_MAX; i++) {
    packet->index = place + i;
    __u64 *slot = bpf_map_lookup_elem(slots, &packet->index);
    if (!slot) return 0;
    __s64 expires;
    slot = read_expires(slot, words + (packet->half & 1), &expires);
    union last_word last = {.word = slot[words - 1]};
    if (!last.used) return 0;
    __u64 differs = (last.word ^ ends[words - 1]) & compared.word;
    for (int j = 0; j < words - 1; j++) differs |= slot[j] ^ ends[j];
    if (!differs && expires > (__s64)packet->now && last.flags & way) return slot;
  }
  return 0;
}

// Ticks wrap after 19 hours: after a pause of just that long, it takes up to five more seconds.
static __always_inline int is_due(__u16 *shown, __u64 now) {
  __u16 tick = (__u16)(now >> FP_TICK_BITS);
  if ((__u16)(tick - *shown) < FP_SHOW_TICKS) return 0;
  *shown = tick;
  struct fp_counts *own = own_counts();
  if (own) own->shown++;
  return 1;
}

// Asks the routing table, and writes the hardware addresses if the packet leaves where it should.
static __always_inline int find_way(const struct packet *packet, struct bpf_fib_lookup *way) {
  way->ifindex = packet->context->ingress_ifindex;
  enum side other = packet->side == EXTERNAL ? INTERNAL : EXTERNAL;
  if (bpf_fib_lookup(packet->context, way, sizeof *way, 0) == BPF_FIB_LKUP_RET_SUCCESS &&
      way->ifindex == interfaces[other].index)
    return 1;
  struct fp_counts *own = own_counts();
  if (own) own->elsewhere++;
  return 0;
}

static __always_inline int leave_unfinished(void) {
  struct fp_counts *own = own_counts();
  if (own) own->unfinished++;
  return XDP_PASS;
}

// Several processors may have packets of a rule.
static __always_inline void count(void *tallies, struct packet *packet, __u16 octets) {
  struct fp_tally *tally = bpf_map_lookup_elem(tallies, &packet->index);
  if (!tally) return;
  __u8 half = packet->half & 1;
  __sync_fetch_and_add(&tally->packets[half], 1);
  __sync_fetch_and_add(&tally->octets[half], octets);
  tally->last[half] = packet->now;
}

static __always_inline int send_on(struct packet *packet, const struct bpf_fib_lookup *way,
                                   void *tallies, __u16 octets) {
  struct ethhdr *ethernet = packet->data;
  __builtin_memcpy(ethernet->h_dest, way->dmac, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, way->smac, ETH_ALEN);
  struct fp_counts *own = own_counts();
  if (own) {
    own->packets++;
    own->octets += octets;
  }
  if (counting) count(tallies, packet, octets);
  return bpf_redirect(way->ifindex, 0);
}

// Octets behind the IP packet must be the padding of a short frame.
static __always_inline int fills_frame(const struct packet *packet, __u32 octets) {
  __u32 frame = packet->end - packet->data;
  octets += sizeof(struct ethhdr);
  return octets == frame || (octets < frame && frame <= ETH_ZLEN);
}

// --- IPv4

static __always_inline int is_plain4(const struct packet *packet, const struct iphdr *ip) {
  __u16 octets = bpf_ntohs(ip->tot_len);
  return *(const __u8 *)ip == PLAIN_IPV4 && (ip->frag_off & bpf_htons(FRAGMENT_BITS)) == 0 &&
         ip->ttl > 1 && (ip->protocol == IPPROTO_UDP || ip->protocol == IPPROTO_UDPLITE) &&
         octets >= sizeof *ip + sizeof(struct udphdr) && fills_frame(packet, octets) &&
         fold(sum_of((const __u32 *)ip, 5)) == 0xFFFF;
}

static __always_inline int forward4(struct packet *packet) {
  struct iphdr *ip = packet->data + sizeof(struct ethhdr);
  struct udphdr *udp = (void *)(ip + 1);
  if ((void *)(udp + 1) > packet->end || !is_plain4(packet, ip)) return XDP_PASS;
  __u16 octets = bpf_ntohs(ip->tot_len);
  if (!is_right(udp, ip->protocol, octets - sizeof *ip)) return XDP_PASS;

  int inward = packet->side == EXTERNAL;
  __u16 internal = bpf_ntohs(inward ? udp->dest : udp->source);
  __u16 external = bpf_ntohs(inward ? udp->source : udp->dest);
  packet->half = internal & 1;
  struct fp_ends4 ends = {.internal = inward ? ip->daddr : ip->saddr,
                          .external = inward ? ip->saddr : ip->daddr,
                          .internal_port = internal & ~1,
                          .external_port = external & ~1,
                          .protocol = ip->protocol,
                          .crossed = (internal ^ external) & 1};
  packet->now = bpf_ktime_get_coarse_ns();
  struct fp_slot4 *slot = find(&slots4, fp_place4(&ends, seed, places), (const __u64 *)&ends,
                               sizeof ends / sizeof(__u64), packet);
  if (!slot) return XDP_PASS;
  if (is_due(&slot->shown[packet->half & 1][inward], packet->now)) return XDP_PASS;
  __u64 pseudo = (__u64)ip->saddr + ip->daddr;
  if (is_unfinished(udp, ip->protocol, pseudo)) return leave_unfinished();

  __u32 source = ip->saddr, target = ip->daddr;
  __u16 source_port = udp->source, target_port = udp->dest;
  if (slot->ends.flags & FP_TRANSLATES) {
    __u16 to_internal = bpf_htons(slot->to_internal_port[packet->half & 1]);
    __u16 to_external = bpf_htons(slot->to_external_port[packet->half & 1]);
    source = inward ? slot->to_external : slot->to_internal;
    target = inward ? slot->to_internal : slot->to_external;
    source_port = inward ? to_external : to_internal;
    target_port = inward ? to_internal : to_external;
  }
  // The stack looks for the way after it has translated the destination, and before the source.
  struct bpf_fib_lookup way = {.family = AF_INET,
                               .l4_protocol = ip->protocol,
                               .sport = udp->source,
                               .dport = target_port,
                               .tot_len = octets,
                               .tos = ip->tos,
                               .ipv4_src = ip->saddr,
                               .ipv4_dst = target};
  if (!find_way(packet, &way)) return XDP_PASS;

  __u64 differences = difference(ip->saddr, source) + difference(ip->daddr, target);
  if (slot->ends.flags & FP_TRANSLATES)
    write_ports(udp, ip->protocol, source_port, target_port, differences);
  __u16 life = *(__u16 *)&ip->ttl;
  ip->ttl--;
  differences += (__u16)~life;
  differences += *(__u16 *)&ip->ttl;
  ip->check = corrected(ip->check, differences);
  ip->saddr = source;
  ip->daddr = target;
  return send_on(packet, &way, &tallies4, octets);
}

// --- IPv6

static __always_inline void copy6(__u32 *to, const __u32 *from) {
  to[0] = from[0];
  to[1] = from[1];
  to[2] = from[2];
  to[3] = from[3];
}

// Writes an address; returns the difference for a checksum.
static __always_inline __u64 write6(__u32 *to, const __u32 *from) {
  __u64 differences = difference(to[0], from[0]) + difference(to[1], from[1]) +
                      difference(to[2], from[2]) + difference(to[3], from[3]);
  copy6(to, from);
  return differences;
}

static __always_inline int is_plain6(const struct packet *packet, const struct ipv6hdr *ip) {
  __u16 octets = bpf_ntohs(ip->payload_len);
  return ip->version == 6 && ip->hop_limit > 1 &&
         (ip->nexthdr == IPPROTO_UDP || ip->nexthdr == IPPROTO_UDPLITE) &&
         octets >= sizeof(struct udphdr) && fills_frame(packet, octets + sizeof *ip);
}

static __always_inline int forward6(struct packet *packet) {
  struct ipv6hdr *ip = packet->data + sizeof(struct ethhdr);
  struct udphdr *udp = (void *)(ip + 1);
  if ((void *)(udp + 1) > packet->end || !is_plain6(packet, ip)) return XDP_PASS;
  __u16 payload = bpf_ntohs(ip->payload_len);
  if (!is_right(udp, ip->nexthdr, payload)) return XDP_PASS;

  int inward = packet->side == EXTERNAL;
  __u32 *source = ip->saddr.in6_u.u6_addr32, *target = ip->daddr.in6_u.u6_addr32;
  __u16 internal = bpf_ntohs(inward ? udp->dest : udp->source);
  __u16 external = bpf_ntohs(inward ? udp->source : udp->dest);
  packet->half = internal & 1;
  struct fp_ends6 ends = {.internal_port = internal & ~1,
                          .external_port = external & ~1,
                          .protocol = ip->nexthdr,
                          .crossed = (internal ^ external) & 1};
  copy6(ends.internal, inward ? target : source);
  copy6(ends.external, inward ? source : target);
  packet->now = bpf_ktime_get_coarse_ns();
  struct fp_slot6 *slot = find(&slots6, fp_place6(&ends, seed, places), (const __u64 *)&ends,
                               sizeof ends / sizeof(__u64), packet);
  if (!slot) return XDP_PASS;
  if (is_due(&slot->shown[packet->half & 1][inward], packet->now)) return XDP_PASS;
  if (is_unfinished(udp, ip->nexthdr, sum_of(source, 4) + sum_of(target, 4)))
    return leave_unfinished();

  int translates = slot->ends.flags & FP_TRANSLATES;
  __u16 to_internal = bpf_htons(slot->to_internal_port[packet->half & 1]);
  __u16 to_external = bpf_htons(slot->to_external_port[packet->half & 1]);
  struct bpf_fib_lookup way = {.family = AF_INET6,
                               .l4_protocol = ip->nexthdr,
                               .sport = udp->source,
                               .dport = udp->dest,
                               .tot_len = payload + sizeof *ip,
                               .flowinfo = *(__be32 *)ip & bpf_htonl(0x0FFFFFFF)};
  copy6(way.ipv6_src, source);
  copy6(way.ipv6_dst, target);
  if (translates) {
    copy6(way.ipv6_dst, inward ? slot->to_internal : slot->to_external);
    way.dport = inward ? to_internal : to_external;
  }
  if (!find_way(packet, &way)) return XDP_PASS;

  if (translates) {
    __u64 differences = write6(source, inward ? slot->to_external : slot->to_internal) +
                        write6(target, inward ? slot->to_internal : slot->to_external);
    write_ports(udp, ip->nexthdr, inward ? to_external : to_internal,
                inward ? to_internal : to_external, differences);
  }
  ip->hop_limit--;
  return send_on(packet, &way, &tallies6, payload + sizeof *ip);
}

// --- The programs

static __always_inline int same_address(const __u8 *a, const __u8 *b) {
  __u16 one[3], other[3];
  __builtin_memcpy(one, a, sizeof one);
  __builtin_memcpy(other, b, sizeof other);
  return ((one[0] ^ other[0]) | (one[1] ^ other[1]) | (one[2] ^ other[2])) == 0;
}

static __always_inline int forward(struct xdp_md *context, enum side side) {
  struct packet packet = {.context = context,
                          .data = (void *)(long)context->data,
                          .end = (void *)(long)context->data_end,
                          .side = side};
  struct ethhdr *ethernet = packet.data;
  if ((void *)(ethernet + 1) > packet.end) return XDP_PASS;
  if (interfaces[side].index == 0) return XDP_PASS;  // the other may not take packets yet
  // Frames to another machine, or to many, are not ours to forward.
  if (!same_address(ethernet->h_dest, interfaces[side].address)) return XDP_PASS;
  if (ethernet->h_proto == bpf_htons(ETH_P_IP)) return forward4(&packet);
  if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) return forward6(&packet);
  return XDP_PASS;
}

SEC("xdp") int from_internal(struct xdp_md *context) { return forward(context, INTERNAL); }
SEC("xdp") int from_external(struct xdp_md *context) { return forward(context, EXTERNAL); }

char terms[] SEC("license") = "Dual BSD/GPL";
