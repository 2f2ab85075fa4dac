// The tree of free runs: joins the runs of two halves, updates a path after a change, and descends
// to the first fitting run.
#include "middlebox/policy/port_map.hpp"

#include <algorithm>
#include <bit>

#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

/// The first port at `port` or later that has `parity`.
unsigned align(unsigned port, Parity parity) {
  return parity == Parity::kAny || port % 2 == static_cast<unsigned>(parity) ? port : port + 1;
}

constexpr std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

PortMap::PortMap(std::uint16_t first, std::uint16_t last) {
  SIMCO_ASSERT(first >= 1 && first <= last);
  set(first, last - first + 1U, true);
}

PortMap::Runs PortMap::runs_in(std::uint64_t free) {
  Runs runs;
  runs.at_begin = static_cast<std::uint16_t>(std::countr_one(free));
  runs.at_end = static_cast<std::uint16_t>(std::countl_one(free));
  while (free != 0) {
    const auto begin = static_cast<unsigned>(std::countr_zero(free));
    const auto length = static_cast<unsigned>(std::countr_one(free >> begin));
    const unsigned parity = begin % 2;
    runs.longest[parity] =
        static_cast<std::uint16_t>(std::max<unsigned>(runs.longest[parity], length));
    runs.longest[1 - parity] =
        static_cast<std::uint16_t>(std::max<unsigned>(runs.longest[1 - parity], length - 1));
    free &= ~(low_bits(length) << begin);
  }
  return runs;
}

PortMap::Runs PortMap::join(const Runs& left, const Runs& right, unsigned half) {
  Runs runs;
  const bool left_free = left.at_begin == half;
  const bool right_free = right.at_end == half;
  runs.at_begin = static_cast<std::uint16_t>(left.at_begin + (left_free ? right.at_begin : 0));
  runs.at_end = static_cast<std::uint16_t>(right.at_end + (right_free ? left.at_end : 0));
  for (unsigned parity : {0U, 1U}) {
    runs.longest[parity] = std::max(left.longest[parity], right.longest[parity]);
  }
  // The run across the middle; `half` is even, so its length to the left tells its parity.
  const unsigned across = left.at_end + right.at_begin;
  if (across == 0) return runs;
  const unsigned parity = left.at_end % 2;
  runs.longest[parity] =
      static_cast<std::uint16_t>(std::max<unsigned>(runs.longest[parity], across));
  runs.longest[1 - parity] =
      static_cast<std::uint16_t>(std::max<unsigned>(runs.longest[1 - parity], across - 1));
  return runs;
}

bool PortMap::fits(const Runs& runs, unsigned count, Parity parity) {
  if (parity == Parity::kAny) return std::max(runs.longest[0], runs.longest[1]) >= count;
  return runs.longest[static_cast<unsigned>(parity)] >= count;
}

std::uint16_t PortMap::longest(Parity parity) const {
  const Runs& all = tree_[1];
  if (parity == Parity::kAny) return std::max(all.longest[0], all.longest[1]);
  return all.longest[static_cast<unsigned>(parity)];
}

void PortMap::set(unsigned first, unsigned count, bool free) {
  const unsigned last = first + count - 1;
  for (unsigned word = first / kWordBits; word <= last / kWordBits; ++word) {
    const unsigned begin = std::max(first, word * kWordBits) % kWordBits;
    const unsigned end = std::min(last, word * kWordBits + kWordBits - 1) % kWordBits;
    const std::uint64_t bits = low_bits(end - begin + 1) << begin;
    SIMCO_ASSERT((free_[word] & bits) == (free ? 0 : bits));
    free_[word] ^= bits;
    tree_[kWords + word] = runs_in(free_[word]);
  }
  unsigned half = kWordBits;
  for (unsigned low = (kWords + first / kWordBits) / 2, high = (kWords + last / kWordBits) / 2;
       low >= 1; low /= 2, high /= 2, half *= 2) {
    for (unsigned i = low; i <= high; ++i) tree_[i] = join(tree_[2 * i], tree_[2 * i + 1], half);
  }
}

unsigned PortMap::find_in_word(unsigned word, unsigned from, unsigned count, Parity parity) const {
  const unsigned base = word * kWordBits;
  std::uint64_t free = free_[word];
  if (from > base) free &= ~low_bits(from - base);
  while (free != 0) {
    const auto begin = static_cast<unsigned>(std::countr_zero(free));
    const auto length = static_cast<unsigned>(std::countr_one(free >> begin));
    const unsigned fit = align(base + begin, parity);
    if (fit + count <= base + begin + length) return fit;
    free &= ~(low_bits(length) << begin);
  }
  return 0;
}

unsigned PortMap::find(unsigned node, unsigned begin, unsigned size, unsigned from, unsigned count,
                       Parity parity) const {
  if (begin + size <= from || !fits(tree_[node], count, parity)) return 0;
  if (node >= kWords) return find_in_word(node - kWords, from, count, parity);
  const unsigned half = size / 2;
  const unsigned middle = begin + half;
  if (const auto found = find(2 * node, begin, half, from, count, parity)) return found;
  const unsigned across = align(std::max(from, middle - tree_[2 * node].at_end), parity);
  if (across < middle && across + count <= middle + tree_[2 * node + 1].at_begin) return across;
  return find(2 * node + 1, middle, half, from, count, parity);
}

std::optional<std::uint16_t> PortMap::take(std::uint16_t count, Parity parity) {
  SIMCO_ASSERT(count > 0);
  unsigned first = find(1, 0, 65536, next_, count, parity);
  if (first == 0) first = find(1, 0, 65536, 0, count, parity);
  if (first == 0) return std::nullopt;
  set(first, count, false);
  next_ = first + count;
  return static_cast<std::uint16_t>(first);
}

bool PortMap::is_free(unsigned first, unsigned count) const {
  for (unsigned port = first; port < first + count; ++port) {
    if ((free_[port / kWordBits] >> (port % kWordBits) & 1U) == 0) return false;
  }
  return true;
}

bool PortMap::take_at(std::uint16_t first, std::uint16_t count) {
  if (count == 0 || unsigned{first} + count > 65536 || !is_free(first, count)) return false;
  set(first, count, false);
  return true;
}

void PortMap::give_back(std::uint16_t first, std::uint16_t count) { set(first, count, true); }

}  // namespace simco::policy
