"""Ours: the first of two paths between agent and middlebox fails for some seconds. How long does the agent have no replies, and
what does it cost?"""

from simco_lab.scenario import Scenario, plot

MOVING = ["tcp", "tcp-2", "mptcp", "quic-16", "sctp-16"]  # know both paths
FAILURES = ["none", "silent-1", "silent-3", "silent-10", "silent-30", "down-10", "requests-10", "lossy-10"]
LONG = ["silent-10", "silent-30", "down-10", "requests-10"]  # for longer than an agent waits

lab = Scenario(
    "When a path fails",
    source="ours; SCTP's multi-homing is why operators choose it (RFC 4960 6.4, RFC 7829)",
    notes=[
        "The first path fails after 5 of 40 s: nothing passes (silent), nothing to the box passes (requests), 30 % of the packets "
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
        "The limits of the claims were guessed before the measurement, but for P8's: its 10 s were not certain, as one run was without "
        "replies for 9.7 s.",
    ],
    network="two-paths", abort_lag_s=0,
    matrix=[dict(variant=["tcp"], paths=[1], profile=["modern"], failure=FAILURES, delay_ms=[10], rate=[100]),
            dict(variant=MOVING, paths=[2], profile=["modern", "tuned"], failure=FAILURES, delay_ms=[10], rate=[100]),
            dict(variant=["sctp-16"], paths=[2], profile=["no-pf"], failure=FAILURES, delay_ms=[10], rate=[100])],
    quick=dict(count=4000, replications=3, failure=["none", "silent-10", "lossy-10"]),
    full=dict(count=4000, replications=3),
    tables=["silence", "late", "max", "packets"],
    plots=[plot("silence", "The first of two paths fails", "groups", x="failure", quantity="silence",
                where=dict(paths=2, profile="tuned", failure=FAILURES[1:]))],
)

lab.claim("P1", "over one path, TCP has no replies for longer than the failure", lambda r: r.silence() > 10_000, variant="tcp", paths=1,
          failure=LONG)
lab.claim("P2", "an agent that opens its TCP connection again has replies after 3 to 5 s",
          lambda r: r.silence().within(above=3000, below=5000), variant="tcp", paths=2, profile="modern", failure=LONG)
lab.claim("P3", "with two sessions, no request waits for over 500 ms", lambda r: r.late() < 1, variant="tcp-2", profile="modern")
lab.claim("P4", "SCTP with the kernel's defaults has replies within 2 s", lambda r: r.silence() < 2000, variant="sctp-16",
          profile="modern")
lab.claim("P5", "tuned, SCTP has replies within 300 ms", lambda r: r.silence() < 300, variant="sctp-16", profile="tuned")
lab.claim("P6", "without the potentially-failed state, SCTP has none for longer",
          lambda r: r.silence("sctp-16", profile="modern") < r.silence("sctp-16", profile="no-pf"), paths=2, failure=LONG)
lab.claim("P7", "MPTCP has replies within 1 s", lambda r: r.silence() < 1000, variant="mptcp", profile="modern")
lab.claim("P8", "QUIC without migration waits for the path: over 5 s", lambda r: r.silence() > 5000, variant="quic-16", profile="modern",
          failure=LONG)
lab.claim("P9", "no request stays without a reply", lambda r: r.unanswered() < 1)
