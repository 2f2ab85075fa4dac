"""Not an experiment: SIP across the dumbbell with a queue that drops at random, beside datagrams and a bulk connection."""

from simco_lab.scenario import Scenario

lab = Scenario(
    "Dumbbell",
    source="ours",
    workload="sip", abort_lag_s=0,
    matrix=[
        # At a constant rate and all but alone: what the queue drops is compared with a simulation. Of 440/s it drops nothing: a packet
        # meets 8 or 9 of the others, and at most one of SIP. (At 700/s, 20 ms would be 14 packets to the instant, and the routers'
        # microseconds would decide.)
        dict(variant=["tcp"], delay_ms=[20], queue=["drd-10-20"], cross=["cbr-440", "cbr-720"], rate=[1]),
        dict(variant=["tcp", "sctp-unordered"], delay_ms=[20], queue=["drd-10-20"], cross=["tcp-1"], rate=[40]),
    ],
    quick=dict(count={1: 20, 40: 1000}),
    full=dict(count={1: 200, 40: 4000}),
)

lab.claim("D1", "the queue costs the flow packets", lambda r: r.lost_share() > 0, cross="tcp-1")
lab.claim("D2", "the path takes 40 ms", lambda r: r.p50() > 39.9)
