"""Camarillo, Schulzrinne, Kantola 2003, 5.1.3: the path's MTU falls below the size of the messages, with and without a
firewall that drops fragments."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: the path's MTU falls",
    source="Evaluation of transport protocols for SIP, 2003, section 5.1.3",
    notes=[
        "The MTU falls after 385 of 800 messages, so 415 are the most that can be missing. Over SCTP the one that is under way "
        "then is too large for the new MTU; it keeps its number, so it is sent again in fragments, which the filter drops. Those "
        "after it leave in two chunks each and arrive, unordered, until T3-rtx expires and the window is one packet, which the "
        "lost message fills. A sender keeps what is beyond a hole, although it arrived: after 52 messages its buffer of 208 KiB "
        "is full, and 362 are never handed to the kernel. With our programs' defaults (4 MiB; one run) all are, but about one "
        "leaves at each timeout, and 286 are missing.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=1200, drain_s=20, abort_lag_s=0, mtu_at_s=10,
    matrix=dict(variant=["udp", "tcp", "sctp-unordered"], delay_ms=[20], mtu_to=[1000], fragments=["pass", "drop"], rate=[40]),
    quick=dict(count=800),
    full=dict(count=800),
    plots=[plot("delay", "The MTU falls after 10 s", "trace", x="time", panels=["fragments"])],
)

lab.claim("E9", "behind a filter of fragments an SCTP association can collapse",
          lambda r: r.unanswered() > 100, fragments="drop", variant="sctp-unordered")
lab.claim("E9t", "TCP delivers all", lambda r: r.unanswered() < 1, variant="tcp")
lab.claim("E9u", "UDP loses what is fragmented",
          lambda r: r.unanswered() > 300, fragments="drop", variant="udp")
lab.claim("E9p", "where fragments pass, all go on", lambda r: r.unanswered() < 1, fragments="pass")
