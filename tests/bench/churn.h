/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
// The shared memory of churn and its BPF programs. Plain C: both sides include it.
#pragma once

#include <linux/types.h>

// Every packet comes from here, and from and to this port of the hosts.
#define CHURN_PEER 0xC0000202u
#define CHURN_PORT 16384

// The known properties of a packet when it is made.
enum churn_kind {
  CHURN_UNJUDGED,  // the rule is about to change
  CHURN_LIVE,      // has to arrive
  CHURN_DEAD,      // must not arrive
  CHURN_LAST,      // of a round; has to arrive
};

// Packets to an internal host. The rest is written before `live`.
struct churn_flow {
  __u64 dead_from;  // packets that are made later must not arrive; ns of CLOCK_MONOTONIC
  __u32 live;       // packets that are made now have to arrive
  __u32 address;    // where they are sent to, in network order
  __u16 port;
  __u16 unused[3];
};

struct churn_load {
  __u32 kind;
  __u32 flow;
};

struct churn_counts {
  __u64 made, live, dead;                                     // by the maker
  __u64 arrived, live_arrived, dead_arrived, misled, rounds;  // by the sink
};
