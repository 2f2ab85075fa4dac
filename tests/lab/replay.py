"""Not an experiment: points that user-mode Linux runs both with simco-loadgen and simco-sip, and inside its kernel (check-replay)."""

from simco_lab.scenario import Scenario

ALL = ["udp", "tcp", "tcp-2", "sctp-1", "sctp-16", "sctp-unordered"]
PATH = dict(delay_ms=[20], link_mbit=[2], queue=["pfifo-50"])

lab = Scenario(
    "The same octets from programs and from the kernel",
    source="ours",
    workload="sip", abort_lag_s=0, large_every=20, large_over_udp=True, warmup=10,
    matrix=[
        dict(PATH, variant=ALL, loss_percent=[2], rate=[40]),
        dict(PATH, profile=["tuned"], variant=["sctp-16"], loss_percent=[2], rate=[40]),  # the I bit
        dict(PATH, variant=["udp", "tcp", "sctp-16"], large_size=[5000], rate=[40]),
        dict(PATH, variant=["udp", "tcp", "sctp-unordered"], cross=["tcp-1"], rate=[90]),
    ],
    quick=dict(count=400),
    full=dict(count=4000),
)
