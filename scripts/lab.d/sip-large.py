"""Ours: every 50th INVITE is large. Whom does it delay, with 1 % of loss?"""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: some messages are large",
    source="ours",
    notes=[
        "There are no runs with I-DATA (RFC 8260), with which chunks of several messages could take turns: the programs do not "
        "ask for it, and the kernel has it only for sockets that do (doc/sctp.md).",
    ],
    workload="sip", measure="one-way", response="none", drain_s=20, abort_lag_s=0, large_every=50, large_over_udp=True,
    matrix=[
        dict(profile=["modern", "tuned"], variant=["udp", "tcp", "tls", "sctp-1", "sctp-16", "sctp-unordered"], delay_ms=[20],
             link_mbit=[10], queue=["pfifo-250"], loss_percent=[1], large_size=[0, 1200, 3000, 16000, 60000], rate=[40]),
        # The streams in turn. Without I-DATA a message that has begun is sent whole.
        dict(profile=["round-robin"], variant=["sctp-16"], delay_ms=[20], link_mbit=[10], queue=["pfifo-250"], loss_percent=[1],
             large_size=[0, 1200, 3000, 16000, 60000], rate=[40]),
    ],
    quick=dict(count=1200, replications=3, profile=["modern", "round-robin"], large_size=[0, 16000]),
    full=dict(count=9600, replications=12),
    plots=[plot("p95", "Every 50th message is large", "over", quantity="others", x="large_size")],
)

lab.claim("G1", "large messages delay the others more with one stream than with 16",
          lambda r: r.others("sctp-16").flatter_than(r.others("sctp-1"), "large_size", 0, 16000, added=True))
lab.claim("G2", "over UDP, fragments make losses more likely",
          lambda r: r.sent_again(large_size=0) < r.sent_again(large_size=[16000, 60000]), profile="modern", variant="udp")
lab.claim("G3", "a scheduler that serves the streams in turn delays the others less than first come, first served",
          lambda r: r.others(profile="round-robin") < r.others(profile="modern"), variant="sctp-16",
          large_size=[16000, 60000])
