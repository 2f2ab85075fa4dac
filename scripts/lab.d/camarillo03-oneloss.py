"""Camarillo, Schulzrinne, Kantola 2003, figures 4 and 5: one packet is lost."""

from simco_lab.judge.claims import increasing
from simco_lab.scenario import Scenario, paper, plot

BOTH = ["sctp-1", "sctp-unordered"]

lab = Scenario(
    "SIP: one lost packet",
    source="Evaluation of transport protocols for SIP, 2003, figures 4 and 5",
    notes=[
        "The paper does not give the load of figure 4. A median below 49 ms is that of a link with little else to do, so both "
        "ends of its range are here: 28 and 85 % of 1.7 Mbit/s. It does not give the buffer either, which has no part in it.",
    ],
    workload="sip", measure="one-way", response="none", invite_size=500, capture=True, warmup=1000, lose_at=500,
    matrix=dict(profile=["ns2", "modern"], variant=["udp", "sctp-unordered", "sctp-1", "tcp"], delay_ms=[45], link_mbit=[1.7],
                queue=["pfifo-50"], lose_run=[0, 1], rate=[109, 330]),
    quick=dict(count=1000),
    full=dict(count=1000),
    plots=[
        plot("delay", "One packet is lost", "trace", x="time", panels=["rate"], paper_figure="figure 4",
             where=dict(lose_run=1, variant=["udp", "sctp-unordered"]), first=450, last=750),
        plot("delivery", "One packet is lost", "delivery", panels=["rate"], paper_figure="figure 5",
             where=dict(lose_run=1, variant=BOTH), first=480, last=600),
    ],
    papers=[
        paper("a message without loss (figure 4: below)", 49, quantity="p50", lose_run=0, variant=["udp", "sctp-unordered"]),
        paper("the lost message, UDP", 551, quantity="max", lose_run=1, variant="udp"),
        paper("the lost message, SCTP", 176, quantity="max", lose_run=1, variant="sctp-unordered"),
        paper("the slowest message after it, SCTP", 125, quantity="second", lose_run=1, variant="sctp-unordered"),
        paper("the slowest message after it, UDP", 49, quantity="second", lose_run=1, variant="udp"),
        paper("the lost message of figure 5", 311, quantity="max", lose_run=1, variant=BOTH),
    ],
)

lab.claim("E1", "the base delay is below 49 ms", lambda r: r.p50() < 49, lose_run=0, rate=109)
lab.claim("E1m", "that of a message that meets no other is, at any load",
          lambda r: r.min() < 49, lose_run=0)
lab.claim("E2", "SCTP recovers earlier than UDP",
          lambda r: increasing(r.max("sctp-unordered"), r.max("udp")), lose_run=1)
lab.claim("E2u", "the lost message takes 551 ms over UDP (10 % more or less)",
          lambda r: r.max().within(below=606, above=496), lose_run=1, variant="udp")
lab.claim("E2s", "and 176 ms over SCTP (10 % more or less)",
          lambda r: r.max().within(below=194, above=158), lose_run=1, variant="sctp-unordered")
lab.claim("E3", "then SCTP's messages take up to about 125 ms (10 % more or less)",
          lambda r: r.second().within(below=137.5, above=112.5), lose_run=1, variant="sctp-unordered")
lab.claim("E3d", "SCTP delays more messages than the lost one",
          lambda r: r.affected() > 1.5, lose_run=1, variant="sctp-unordered")
lab.claim("E3u", "and UDP's stay around 49 ms (10 % more or less)",
          lambda r: r.second() < 53.9, lose_run=1, variant="udp")
lab.claim("E3n", "UDP delays none but the lost one",
          lambda r: r.affected() < 1.5, lose_run=1, variant="udp")
lab.claim("E3f", "in order or not, the lost message arrives at the same time",
          lambda r: r.max().equal(within_ms=1), lose_run=1, variant=BOTH)
lab.claim("E3g", "but in order more messages are late",
          lambda r: increasing(r.affected("sctp-unordered"), r.affected("sctp-1")), lose_run=1)
lab.claim("P1", "unordered messages never wait behind others",
          lambda r: r.behind() < 0.1, variant=["udp", "sctp-unordered"])
