#include "tests/bench/xdp_forwarder.hpp"

#include <bpf/libbpf.h>
#include <forward.skel.h>
#include <net/if.h>

#include <array>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {

struct XdpForwarder::Program {
  forward_bpf* skeleton = nullptr;
  std::array<bpf_link*, 2> links{};
};

XdpForwarder::XdpForwarder(const Forwarding& net) : program_(std::make_unique<Program>()) {
  libbpf_set_print(nullptr);
  program_->skeleton = forward_bpf__open_and_load();
  if (program_->skeleton == nullptr) die("the BPF program, which needs root's rights");
  program_->links = net.router.run([this] {
    std::array<bpf_link*, 2> links{};
    for (std::size_t i = 0; i < links.size(); ++i) {
      const auto interface = static_cast<int>(::if_nametoindex(i == 0 ? "int0" : "ext0"));
      links[i] = bpf_program__attach_xdp(program_->skeleton->progs.forward, interface);
      if (links[i] == nullptr) die("XDP");
    }
    return links;
  });
}

XdpForwarder::~XdpForwarder() {
  for (auto* link : program_->links) bpf_link__destroy(link);
  forward_bpf__destroy(program_->skeleton);
}

}  // namespace simco::bench
