// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwards IPv4 packets by the kernel's routes and neighbours and does nothing else: how fast an
// XDP program on these interfaces can be.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FAMILY_IPV4 2

SEC("xdp")
int forward(struct xdp_md* context) {
  void* end = (void*)(long)context->data_end;
  struct ethhdr* ethernet = (void*)(long)context->data;
  struct iphdr* ip = (void*)(ethernet + 1);
  if ((void*)(ip + 1) > end || ethernet->h_proto != bpf_htons(ETH_P_IP)) return XDP_PASS;
  if (ip->ttl <= 1) return XDP_PASS;
  struct bpf_fib_lookup route = {
      .family = FAMILY_IPV4,
      .tos = ip->tos,
      .l4_protocol = ip->protocol,
      .tot_len = bpf_ntohs(ip->tot_len),
      .ipv4_src = ip->saddr,
      .ipv4_dst = ip->daddr,
      .ifindex = context->ingress_ifindex,
  };
  if (bpf_fib_lookup(context, &route, sizeof route, 0) != BPF_FIB_LKUP_RET_SUCCESS) return XDP_PASS;
  __u32 sum = ip->check + bpf_htons(0x0100);
  ip->check = sum + (sum >= 0xFFFF);
  ip->ttl--;
  __builtin_memcpy(ethernet->h_dest, route.dmac, ETH_ALEN);
  __builtin_memcpy(ethernet->h_source, route.smac, ETH_ALEN);
  return bpf_redirect(route.ifindex, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
