"""Camarillo, Schulzrinne, Loreto, Hautakorpi 2009, table 1: the correlation of losses, where the random numbers that decide
about losses correlate and not the losses."""

from simco_lab.scenario import Scenario, plot

BOTH = ["sctp-1", "sctp-unordered"]

lab = Scenario(
    "SIP: random loss by correlated numbers",
    source="JCN 2009, table 1, figure 4",
    notes=[
        "The paper does not say what NIST Net's correlation of losses did. In camarillo09-random, losses correlate and come in bursts "
        "of two or five. Here the random numbers that decide about them do: with a correlation of 0.8 and 2 % loss, a packet that "
        "follows a lost one is lost with a probability of 0.42, so bursts have 1.7 packets.",
        "Ten runs a point, as the paper has, gave p = 0.049 in order and 0.051 unordered. These are 30 others (seed 2), so that the first "
        "ten do not count twice.",
    ],
    workload="sip", seeds="own", seed=2, abort_lag_s=0,
    matrix=dict(variant=BOTH, delay_ms=[20], loss_percent=[1, 2, 3, 4], loss_correlation=[0, 0.5, 0.8], correlated=["numbers"],
                queue=["drd-10-20"], rate=[40]),
    quick=dict(count=1200, replications=6),  # 30 s
    full=dict(count=2400, replications=30),  # 60 s; the paper has 10 runs
    plots=[plot("p95", "Random loss by correlated numbers", "over", quantity="p95", x="loss_percent", panels=["loss_correlation"],
                paper_figure="figure 4")],
)

for name, words, variant in (("A2o", "in order", "sctp-1"), ("A2u", "unordered", "sctp-unordered")):
    lab.claim(name, f"the correlation of losses has no influence, {words}",
              lambda r: r.p95().independent_of("loss_correlation", on=["loss_percent", "loss_correlation"]), variant=variant)
lab.claim("A1", "ordered delivery is slower at every loss rate",
          lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")))
