// Derivative random drop, the queue of NIST Net: an arriving packet meets n packets in the delay line; it is dropped
// never at n <= min, with a probability that rises linearly to 95 % at n = max, and with 95 % beyond. n is counted
// exactly, by a program before the delay line and one behind it; random numbers come from the laboratory's seed.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#define DIRECTIONS 2
#define MOST_PERCENT 95

struct line {
  __u64 min, max;         // thresholds, in packets
  __u64 state;            // of the random numbers, not 0
  __u64 in, out, dropped; // packets
  __u64 deepest;          // the most that an arriving packet met or made
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, DIRECTIONS);
  __type(key, __u32);
  __type(value, struct line);
} lines SEC(".maps");

// xorshift64*, the upper half.
static __always_inline __u64 random32(struct line *line) {
  __u64 x = line->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  line->state = x;
  return (x * 2685821657736338717ULL) >> 32;
}

static __always_inline int enter(__u32 direction) {
  struct line *line = bpf_map_lookup_elem(&lines, &direction);
  if (!line) return TC_ACT_UNSPEC;
  __u64 n = line->in - line->out;
  if (n > line->min) {
    __u64 above = (n < line->max ? n : line->max) - line->min;
    // random / 2^32 < 0.95 above / (max - min), in whole numbers.
    if (random32(line) * (line->max - line->min) * 100 < (above * MOST_PERCENT) << 32) {
      line->dropped++;
      return TC_ACT_SHOT;
    }
  }
  line->in++;
  if (n + 1 > line->deepest) line->deepest = n + 1;
  return TC_ACT_UNSPEC;
}

static __always_inline int leave(__u32 direction) {
  struct line *line = bpf_map_lookup_elem(&lines, &direction);
  if (line) line->out++;
  return TC_ACT_UNSPEC;
}

SEC("tc") int enter_request(struct __sk_buff *packet) { return enter(0); }
SEC("tc") int leave_request(struct __sk_buff *packet) { return leave(0); }
SEC("tc") int enter_reply(struct __sk_buff *packet) { return enter(1); }
SEC("tc") int leave_reply(struct __sk_buff *packet) { return leave(1); }

char kernel_license[] SEC("license") = "GPL";
