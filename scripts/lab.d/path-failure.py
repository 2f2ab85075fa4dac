"""Ours: the first of two paths between agent and middlebox fails for some seconds. How long does the agent have no replies, and
what does it cost?"""

from simco_lab.scenario import Scenario, plot

MOVING = ["tcp", "tcp-2", "mptcp", "quic-16", "sctp-16"]  # know both paths
FAILURES = ["none", "silent-1", "silent-3", "silent-10", "silent-30", "down-10", "requests-10", "lossy-10"]
LONG = ["silent-10", "silent-30", "down-10", "requests-10"]  # longer than agents wait over TCP

lab = Scenario(
    "When a path fails",
    source="ours; SCTP's multi-homing is why operators choose it (RFC 4960 6.4, RFC 7829)",
    notes=[
        "The first path fails after 5 of 70 s: nothing passes (silent), nothing to the box passes (requests), 30 % of the packets "
        "are lost (lossy), or the agent's interface is down, which its kernel knows (down).",
        "`tcp` with one path is the kernel's TCP; it stays. With two paths simco-loadgen does what agents do: it ends a TCP "
        "connection after 3 s in which nothing was acknowledged, opens another one to the address that answers first, and sends "
        "the requests without a reply again. `tcp-2` are two sessions, one on each path, which take turns; a request without a "
        "reply after 200 ms goes over the other one.",
        "SCTP binds all addresses, and sends over the first path until it fails. Linux's default leaves a path after one timeout "
        "(`net.sctp.pf_enable=1`, `pf_retrans=0`; RFC 7829). Profile `no-pf` has `net.sctp.pf_enable=0`, `tuned` our programs' "
        "RTO.Min of 25 ms and the sysctls of doc/sctp.md.",
        "MPTCP is Linux's with its defaults, by `mptcpize`; the box announces its second address, and both subflows carry data.",
        "QUIC does not migrate: ngtcp2's client does so only if its program asks for it, and ours does not. RFC 9000 moves the "
        "client's address only, so both paths would have to lead to one address of the box. It waits for the path, or reconnects "
        "after 30 s of silence.",
    ],
    network="two-paths", abort_lag_s=0,
    matrix=[dict(variant=["tcp"], paths=[1], profile=["modern"], failure=FAILURES, delay_ms=[10], rate=[100]),
            dict(variant=MOVING, paths=[2], profile=["modern", "tuned"], failure=FAILURES, delay_ms=[10], rate=[100]),
            dict(variant=["sctp-16"], paths=[2], profile=["no-pf"], failure=FAILURES, delay_ms=[10], rate=[100])],
    quick=dict(count=7000, replications=3),
    full=dict(count=7000, replications=3),
    tables=["silence", "late", "max", "packets"],
    plots=[plot("silence", "The first of two paths fails", "groups", x="failure", quantity="silence",
                where=dict(paths=2, profile="tuned", failure=FAILURES[1:]))],
)
