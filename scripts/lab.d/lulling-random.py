"""Lulling and Vaughan 2005, 3.2, figures 7 and 8: random loss of messages."""

from simco_lab.judge.claims import increasing
from simco_lab.scenario import Scenario, plot

PATH = dict(delay_ms=[45], link_mbit=[2], queue=["pfifo-50"], rate=[160], lose=["messages"],
            loss_percent=[0.1, 0.2, 0.3, 0.4, 0.5])

lab = Scenario(
    "SIP: random loss of messages",
    source="Lulling, Vaughan 2005, figures 7 and 8",
    notes=[
        "The paper does not give the length of its runs, on which the means depend where delays rise during the run.",
    ],
    workload="sip", measure="one-way", warmup=500, response="none", invite_size=512, abort_lag_s=0, capture=True,
    matrix=[
        dict(PATH, profile=["ns2"], variant=["udp", "tcp@reno", "tcp@sack", "tcp@vegas", "sctp-unordered"]),
        dict(PATH, profile=["modern", "tuned"], variant=["tcp", "tcp@reno", "tcp@bbr", "sctp-unordered"]),
    ],
    quick=dict(count=8000, profile=["ns2", "modern"], loss_percent=[0.1, 0.3, 0.5]),
    full=dict(count=32000, replications=5),
    plots=[
        plot("delay", "Delays at 0.3 % loss", "trace", panels=["variant"], paper_figure="figure 7", where=dict(loss_percent=0.3)),
        plot("mean", "Mean delay", "over", quantity="mean", x="loss_percent", paper_figure="figure 8"),
        plot("parts", "Where the delay comes from, 0.5 %", "parts", where=dict(loss_percent=0.5)),
    ],
)

lab.claim("F4a", "up to 0.3 % no message takes 2 s",
          lambda r: r.max() < 2000, profile="ns2", loss_percent=[0.1, 0.2, 0.3])
lab.claim("F4b", "beyond, SACK, Reno and SCTP take longer",
          lambda r: r.max() > 2000, profile="ns2", loss_percent=[0.4, 0.5],
          variant=["tcp@sack", "tcp@reno", "sctp-unordered"])
lab.claim("F5r", "Reno's mean is above 2 s at 0.5 %",
          lambda r: r.mean() > 2000, profile="ns2", loss_percent=0.5, variant="tcp@reno")
lab.claim("F5", "all others' means are below it",
          lambda r: r.mean() < 2000, profile="ns2", variant=["udp", "tcp@sack", "tcp@vegas", "sctp-unordered"])
lab.claim("F6", "UDP and Vegas have the lowest means",
          lambda r: increasing(r.mean("udp", "tcp@vegas"), r.mean("sctp-unordered", "tcp@sack"), r.mean("tcp@reno")),
          profile="ns2", loss_percent=[0.3, 0.4, 0.5])
lab.claim("F6p", "and the lowest peaks",
          lambda r: increasing(r.max("udp", "tcp@vegas"), r.max("sctp-unordered", "tcp@sack"), r.max("tcp@reno")),
          profile="ns2", loss_percent=[0.3, 0.4, 0.5])
lab.claim("F6a", "loss leaves UDP's mean alone (a tenth more at most)",
          lambda r: r.mean("udp", loss_percent=[0.2, 0.3, 0.4, 0.5]) < 1.1 * r.mean("udp", loss_percent=0.1),
          profile="ns2")
lab.claim("F6v", "and Vegas' (a tenth more at most)",
          lambda r: r.mean("tcp@vegas", loss_percent=[0.2, 0.3, 0.4, 0.5]) < 1.1 * r.mean("tcp@vegas", loss_percent=0.1),
          profile="ns2")
lab.claim("F6u", "UDP rarely sends a message a third time",
          lambda r: r.further() < 1, profile="ns2", variant="udp")
lab.claim("F11", "the sender's wait costs more than head-of-line blocking",
          lambda r: r.sender_over_behind() > 0, profile="ns2", loss_percent=0.5,
          variant=["tcp@reno", "tcp@sack", "tcp@vegas", "sctp-unordered"])
lab.claim("F11h", "which costs little", lambda r: r.behind() < 20, profile="ns2", loss_percent=0.5)
lab.claim("O3", "with segments of the usual size the same Reno has a fraction of the delay",
          lambda r: r.mean("tcp@reno", profile="modern") < 0.5 * r.mean("tcp@reno", profile="ns2"),
          loss_percent=[0.3, 0.4, 0.5])
