// Loads the program with libbpf, through the skeleton that bpftool makes of the object.
#include "middlebox/backend/fastpath/program.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fast_path.skel.h>
#include <linux/if_link.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "middlebox/backend/fastpath/limits.hpp"
#include "simco/log/log.hpp"

namespace simco::backend::fastpath {
namespace {

/// The library's own messages are for debugging.
int log_library(libbpf_print_level /*level*/, const char* format, va_list arguments) {
  std::array<char, 1024> text{};
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string line = text.data();
  while (!line.empty() && line.back() == '\n') line.pop_back();
  log::debug("libbpf: {}", line);
  return size;
}

[[noreturn]] void explain_load(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      throw std::runtime_error(
          "not permitted; run as root, or with the capabilities CAP_BPF, CAP_PERFMON and "
          "CAP_NET_ADMIN");
    case ENOMEM: throw std::runtime_error("no memory for the table; use fewer --fast-path-entries");
    default:
      throw std::runtime_error(
          std::string("the kernel does not take the XDP program (Linux 6.1 or later does): ") +
          std::strerror(error));
  }
}

/// The values of an array map, as memory that the program sees too.
template <class Slot>
class MappedArray {
 public:
  void map(const bpf_map* map) {
    count_ = bpf_map__max_entries(map);
    void* const memory = ::mmap(nullptr, count_ * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED,
                                bpf_map__fd(map), 0);
    if (memory == MAP_FAILED) explain_load(errno);
    memory_ = static_cast<Slot*>(memory);
  }
  ~MappedArray() {
    if (memory_ != nullptr) ::munmap(memory_, count_ * sizeof(Slot));
  }
  std::span<Slot> slots() { return {memory_, count_}; }

 private:
  Slot* memory_ = nullptr;
  std::size_t count_ = 0;
};

struct Destroy {
  void operator()(fast_path_bpf* skeleton) const { fast_path_bpf__destroy(skeleton); }
};

}  // namespace

struct Program::Kernel {
  std::unique_ptr<fast_path_bpf, Destroy> skeleton;
  MappedArray<fp_slot4> slots4;
  MappedArray<fp_slot6> slots6;
  MappedArray<fp_tally> tallies4;
  MappedArray<fp_tally> tallies6;
  std::array<int, 2> links{-1, -1};

  fp_interface& interface_of(Side side) const {
    return skeleton->bss->interfaces[static_cast<std::size_t>(side)];
  }
  /// The program reads it at any time.
  void set_index(Side side, unsigned index) const {
    std::atomic_ref(interface_of(side).index).store(index, std::memory_order_release);
  }
  int& link_of(Side side) { return links.at(static_cast<std::size_t>(side)); }
  const bpf_program* program_of(Side side) const {
    return side == Side::kInternal ? skeleton->progs.from_internal : skeleton->progs.from_external;
  }
};

Program::Program(std::uint32_t entries, bool counting) : kernel_(std::make_unique<Kernel>()) {
  libbpf_set_print(log_library);
  kernel_->skeleton.reset(fast_path_bpf__open());
  if (!kernel_->skeleton) explain_load(errno);
  auto& skeleton = *kernel_->skeleton;
  if (::getrandom(&seed_, sizeof seed_, 0) != sizeof seed_) explain_load(errno);
  const std::uint32_t places = entries / 2 * kSlotHalvesPerEntry + kSlotHalvesPerEntry;
  skeleton.rodata->seed = seed_;
  skeleton.rodata->places = places;
  skeleton.rodata->counting = counting;
  const auto& maps = skeleton.maps;
  std::vector<bpf_map*> arrays = {maps.slots4, maps.slots6};
  if (counting) arrays.insert(arrays.end(), {maps.tallies4, maps.tallies6});
  for (auto* const array : arrays) bpf_map__set_max_entries(array, places + FP_PROBES_MAX);
  if (const int error = fast_path_bpf__load(&skeleton); error != 0) explain_load(-error);
  kernel_->slots4.map(skeleton.maps.slots4);
  kernel_->slots6.map(skeleton.maps.slots6);
  if (!counting) return;
  kernel_->tallies4.map(maps.tallies4);
  kernel_->tallies6.map(maps.tallies6);
}

Program::~Program() { unlink(); }

std::span<fp_slot4> Program::slots4() { return kernel_->slots4.slots(); }
std::span<fp_slot6> Program::slots6() { return kernel_->slots6.slots(); }
std::span<fp_tally> Program::tallies4() { return kernel_->tallies4.slots(); }
std::span<fp_tally> Program::tallies6() { return kernel_->tallies6.slots(); }

void Program::set_address(Side side, const std::array<std::uint8_t, 6>& address) {
  std::ranges::copy(address, kernel_->interface_of(side).address);
}

void Program::set_lease(Instant end) {
  std::atomic_ref<__s64>(kernel_->skeleton->data->lease_end)
      .store(end.time_since_epoch().count(), std::memory_order_release);
}

std::optional<std::string> Program::link(Side side, unsigned index) {
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.flags = XDP_FLAGS_DRV_MODE;
  const int program = bpf_program__fd(kernel_->program_of(side));
  const int link = bpf_link_create(program, static_cast<int>(index), BPF_XDP, &options);
  if (link >= 0) {
    kernel_->link_of(side) = link;
    return std::nullopt;
  }
  switch (errno) {
    case EBUSY:
    case EEXIST: return "another XDP program is there";
    case EOPNOTSUPP: return "its driver has no native XDP";
    case EPERM: return "not permitted; the middlebox needs CAP_NET_ADMIN";
    case EINVAL:
    case ERANGE:
    case EMSGSIZE: return "its driver refuses XDP, as with a large MTU or LRO";
    default: return std::strerror(errno);
  }
}

void Program::open() {
  for (const Side side : kSides) kernel_->set_index(side, linked(side));
}

void Program::unlink() {
  for (const Side side : kSides) kernel_->set_index(side, 0);
  for (int& link : kernel_->links) {
    if (link >= 0) ::close(std::exchange(link, -1));
  }
}

unsigned Program::linked(Side side) const {
  const int link = kernel_->link_of(side);
  if (link < 0) return 0;
  bpf_link_info info{};
  __u32 size = sizeof info;
  return bpf_obj_get_info_by_fd(link, &info, &size) == 0 ? info.xdp.ifindex : 0;
}

fp_counts Program::counts() const {
  const int processors = libbpf_num_possible_cpus();
  std::vector<fp_counts> each(static_cast<std::size_t>(std::max(processors, 1)));
  fp_counts sum{};
  const __u32 first = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(kernel_->skeleton->maps.counts), &first, each.data()) != 0)
    return sum;
  for (const auto& one : each) {
    sum.packets += one.packets;
    sum.octets += one.octets;
    sum.shown += one.shown;
    sum.unfinished += one.unfinished;
    sum.elsewhere += one.elsewhere;
  }
  return sum;
}

}  // namespace simco::backend::fastpath
