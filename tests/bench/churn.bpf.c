// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Makes UDP packets for flows whose rules come and go, and looks at those that arrive.
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "churn.h"

struct frame {
  struct ethhdr ethernet;
  struct iphdr ip;
  struct udphdr udp;
  struct churn_load load;
} __attribute__((packed));

const volatile __u32 exit_interface;  // whose peer gets the packets
const volatile __u8 router[ETH_ALEN];  // its hardware address
const volatile __u32 flow_count;
const volatile __u32 first_host;  // internal address of flow 0, in the machine's order
const volatile __u32 in_round;       // packets; the last one goes to flow 0

struct churn_counts counts;  // one processor makes packets, and one looks at them

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct churn_flow);
} flows SEC(".maps");

static __always_inline __u16 checksum_of(const struct frame *frame) {
  const __u16 *words = (const void *)frame + offsetof(struct frame, ip);
  __u32 sum = 0;
  for (int i = 0; i < 10; i++) sum += words[i];
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  return ~sum;
}

// Whether all packets of the rounds before have met the rules.
static __always_inline int is_through(void) {
  volatile struct churn_counts *now = &counts;
  return now->rounds * in_round == now->made && now->live_arrived == now->live;
}

// All of the headers, since the router changes them, and the kernel uses the memory of its packets
// again.
SEC("xdp") int make(struct xdp_md *context) {
  struct frame *frame = (void *)(long)context->data;
  if ((void *)(frame + 1) > (void *)(long)context->data_end) return XDP_DROP;
  if (counts.made % in_round == 0 && !is_through()) return XDP_DROP;
  int is_last = (counts.made + 1) % in_round == 0;
  __u32 flow = is_last ? 0 : 1 + bpf_get_prandom_u32() % (flow_count - 1);
  struct churn_flow *to = bpf_map_lookup_elem(&flows, &flow);
  if (!to) return XDP_DROP;
  __u32 kind = CHURN_UNJUDGED;
  if (is_last)
    kind = CHURN_LAST;
  else if (*(volatile __u32 *)&to->live)
    kind = CHURN_LIVE;
  else if (bpf_ktime_get_ns() > *(volatile __u64 *)&to->dead_from)
    kind = CHURN_DEAD;
  counts.made++;
  counts.live += kind == CHURN_LIVE;
  counts.dead += kind == CHURN_DEAD;

  for (int i = 0; i < ETH_ALEN; i++) {
    frame->ethernet.h_dest[i] = router[i];
    frame->ethernet.h_source[i] = i == 0 ? 2 : 0;
  }
  __builtin_memset(&frame->ip, 0, sizeof frame->ip);
  frame->ethernet.h_proto = bpf_htons(ETH_P_IP);
  frame->ip.version = 4;
  frame->ip.ihl = 5;
  frame->ip.ttl = 64;
  frame->ip.protocol = IPPROTO_UDP;
  frame->ip.tot_len =
      bpf_htons(context->data_end - context->data - sizeof frame->ethernet);
  frame->ip.saddr = bpf_htonl(CHURN_PEER);
  frame->ip.daddr = to->address;
  frame->ip.check = checksum_of(frame);
  frame->udp.source = bpf_htons(CHURN_PORT);
  frame->udp.dest = to->port;
  frame->udp.len = bpf_htons(context->data_end - context->data - sizeof frame->ethernet -
                             sizeof frame->ip);
  frame->udp.check = 0;
  frame->load.kind = kind;
  frame->load.flow = flow;
  return bpf_redirect(exit_interface, 0);
}

SEC("xdp") int look(struct xdp_md *context) {
  struct frame *frame = (void *)(long)context->data;
  if ((void *)(frame + 1) > (void *)(long)context->data_end) return XDP_PASS;
  if (frame->ethernet.h_proto != bpf_htons(ETH_P_IP) || frame->ip.protocol != IPPROTO_UDP)
    return XDP_PASS;
  __u32 kind = frame->load.kind;
  counts.arrived++;
  counts.live_arrived += kind == CHURN_LIVE;
  counts.dead_arrived += kind == CHURN_DEAD;
  counts.misled += frame->ip.daddr != bpf_htonl(first_host + frame->load.flow) ||
                   frame->udp.dest != bpf_htons(CHURN_PORT);
  if (kind == CHURN_LAST) counts.rounds++;
  return XDP_DROP;
}

char terms[] SEC("license") = "Dual BSD/GPL";
