"""Lulling and Vaughan 2005, 3.1, figures 4 to 6: 1 to 10 consecutive messages are lost. The papers' simulators had a packet
carry one message: profile ns2."""

from simco_lab.judge.claims import increasing
from simco_lab.scenario import Scenario, plot

PATH = dict(delay_ms=[45], link_mbit=[2], queue=["pfifo-50"], rate=[160], lose_run=list(range(11)))

lab = Scenario(
    "SIP: a burst of losses",
    source="Lulling, Vaughan 2005, figures 4 to 6",
    notes=[
        "The paper does not say how it counts affected messages. Here these are more than 1 ms later than in the run of the same "
        "seed without loss.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=512, abort_lag_s=0, warmup=500, lose_at=200, capture=True,
    matrix=[
        dict(PATH, profile=["ns2"], variant=["udp", "tcp@reno", "tcp@sack", "tcp@vegas", "sctp-unordered"]),
        dict(PATH, profile=["modern", "tuned"], variant=["tcp", "tcp@bbr", "sctp-unordered"]),
    ],
    quick=dict(count=1000, lose_run=[0, 1, 3, 5, 10], profile=["ns2", "modern"]),
    full=dict(count=1000),
    plots=[
        plot("delay", "5 consecutive messages are lost", "trace", paper_figure="figure 4", where=dict(lose_run=5), first=180,
             last=600),
        plot("peak", "Peak delay", "over", quantity="max", x="lose_run", paper_figure="figure 5"),
        plot("affected", "Messages affected", "over", quantity="affected", x="lose_run", paper_figure="figure 6"),
    ],
)

lab.claim("F1", "up to 3 lost messages all are reasonable",
          lambda r: r.max() < 2000, profile="ns2", lose_run=[1, 2, 3])
lab.claim("F2", "from 4 on: SACK and SCTP have the lowest peaks, then UDP, Reno, Vegas",
          lambda r: increasing(r.max("tcp@sack", "sctp-unordered"), r.max("udp"), r.max("tcp@reno"), r.max("tcp@vegas")),
          profile="ns2", lose_run=[4, 5, 6, 7, 8, 9, 10])
lab.claim("F3", "from 4 on: over UDP, SCTP and SACK fewer messages are affected than over Reno and Vegas",
          lambda r: increasing(r.affected("udp", "sctp-unordered", "tcp@sack"), r.affected("tcp@reno", "tcp@vegas")),
          profile="ns2", lose_run=[4, 5, 6, 7, 8, 9, 10])
lab.claim("F3f", "UDP, SCTP and SACK: few messages are affected",
          lambda r: r.affected() < 100, profile="ns2", lose_run=[4, 5, 6, 7, 8, 9, 10],
          variant=["udp", "sctp-unordered", "tcp@sack"])
lab.claim("F3m", "Reno and Vegas: hundreds",
          lambda r: r.affected() > 100, profile="ns2", lose_run=[4, 5, 6, 7, 8, 9, 10],
          variant=["tcp@reno", "tcp@vegas"])
