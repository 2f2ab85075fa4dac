/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
// The table of the fast path, as the middlebox writes it and the XDP program reads it: an array of
// slots for each IP version, searched by linear probing. Plain C: both sides include it.
//
// A slot is about two ends, the internal network's and the other, as packets have them on the
// interface where they arrive, and about two ports of each: an even port and the next. Either half
// belongs to a rule of its own. "Half" is the last bit of the internal port.
//
// Only the middlebox writes, except for `shown`. It makes a half live by storing the time of
// expiry, after everything else, and ends it by storing, negative, the time of the end. A half that
// was about something else, or let packets pass another way, rests (FP_REST_NS) before it is
// written again, until no processor reads it. The program reads the time of expiry before
// everything else: if it is in the future, all later reads see the values stored before, which stay
// for as long.
#pragma once

#include <linux/types.h>

// Slots that are looked at for a packet, the first included.
#define FP_PROBES_MAX 32
// A slot, or a half of it, rests so long after its end until it is about something else.
#define FP_REST_NS 1000000000LL
// The kernel's own stack gets the first packet of each half and direction, and another in so many
// times 2^FP_TICK_BITS ns, about a second: so it goes on asking for the neighbour's hardware
// address, and connection tracking knows the flow, which judges and translates ICMP errors.
#define FP_SHOW_TICKS 5
#define FP_TICK_BITS 30

// Bits of `flags`: which way packets of half 0 pass, of half 1 two bits higher.
#define FP_INBOUND 1
#define FP_OUTBOUND 2
#define FP_TRANSLATES 16

// Addresses are in network order, ports in the processor's; those of a slot are even.
struct fp_ends4 {
  __u32 internal;
  __u32 external;
  __u16 internal_port;
  __u16 external_port;
  __u8 protocol;
  __u8 crossed;  // an even internal port goes with an odd external port
  __u8 used;     // of a slot; 0: the search ends here
  __u8 flags;    // of a slot
} __attribute__((aligned(8)));

struct fp_slot4 {
  struct fp_ends4 ends;
  __s64 expires[2];   // of each half, ns of CLOCK_MONOTONIC; 0: never used, negative: ended then
  __u32 to_internal;  // the translated ends
  __u32 to_external;
  __u16 to_internal_port[2];  // by half
  __u16 to_external_port[2];
  __u16 shown[2][2];  // by half and side: the tick in which the stack got a packet last
  __u32 pid[2];       // whose rule each half belongs to; not for the program
};

struct fp_ends6 {
  __u32 internal[4];
  __u32 external[4];
  __u16 internal_port;
  __u16 external_port;
  __u8 protocol;
  __u8 crossed;
  __u8 used;
  __u8 flags;
} __attribute__((aligned(8)));

struct fp_slot6 {
  struct fp_ends6 ends;
  __s64 expires[2];
  __u16 shown[2][2];
  __u32 to_internal[4];
  __u32 to_external[4];
  __u16 to_internal_port[2];
  __u16 to_external_port[2];
  __u32 pid[2];
  __u64 unused[2];
};

// The counts of the halves of a slot, in an array beside each table with as many elements, if the
// program counts by rule. The octets are those from the IP header on.
struct fp_tally {
  __u64 packets[2];
  __u64 octets[2];
  __s64 last[2];  // CLOCK_MONOTONIC in ns, of its tick before the last packet
  __u64 unused[2];
};

// The two interfaces, by side: 0 internal, 1 external.
struct fp_interface {
  __u32 index;      // 0: nothing is forwarded, in either direction
  __u8 address[6];  // hardware address
  __u16 unused;
};

// The counts of a processor.
struct fp_counts {
  __u64 packets;     // forwarded
  __u64 octets;      // of them, from the IP header on
  __u64 shown;       // given to the stack once in a while
  __u64 unfinished;  // given to the stack because the checksum is not there yet
  __u64 elsewhere;   // given to the stack because the route is not through the other interface
};

static inline __u64 fp_mix(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

static inline __u64 fp_mix_ports(__u64 hash, __u16 internal, __u16 external, __u8 protocol,
                                 __u8 crossed) {
  hash =
      fp_mix(hash, (__u64)internal << 32 | (__u64)external << 16 | (__u64)protocol << 8 | crossed);
  return (hash * 0xD6E8FEB86659FD93ULL) >> 32;
}

// Returns the first slot of `slots` to look at. `seed`: a secret, or agents could choose ports that
// all begin at the same slot.
static inline __u32 fp_place4(const struct fp_ends4* ends, __u64 seed, __u32 slots) {
  __u64 hash = fp_mix(seed, (__u64)ends->internal << 32 | ends->external);
  hash =
      fp_mix_ports(hash, ends->internal_port, ends->external_port, ends->protocol, ends->crossed);
  return (__u32)((hash * slots) >> 32);
}

static inline __u32 fp_place6(const struct fp_ends6* ends, __u64 seed, __u32 slots) {
  __u64 hash = fp_mix(seed, (__u64)ends->internal[0] << 32 | ends->internal[1]);
  hash = fp_mix(hash, (__u64)ends->internal[2] << 32 | ends->internal[3]);
  hash = fp_mix(hash, (__u64)ends->external[0] << 32 | ends->external[1]);
  hash = fp_mix(hash, (__u64)ends->external[2] << 32 | ends->external[3]);
  hash =
      fp_mix_ports(hash, ends->internal_port, ends->external_port, ends->protocol, ends->crossed);
  return (__u32)((hash * slots) >> 32);
}
