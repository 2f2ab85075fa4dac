"""Camarillo et al. 2009, VI-A.1: with random loss alone, does the length of the queue matter? Both meet the same arrivals and losses."""

from simco_lab.scenario import Scenario

lab = Scenario(
    "SIP: two queues under the same random loss",
    source="JCN 2009, table 1",
    notes=[
        "The paper compares the queues by tests of runs with other losses. With the same arrivals and losses both must give the "
        "same samples if neither queue drops anything.",
    ],
    workload="sip", abort_lag_s=0,
    matrix=dict(variant=["sctp-1", "sctp-unordered"], delay_ms=[20, 60], loss_percent=[0.5, 1, 2, 3, 4, 6, 8],
                queue=["drd-10-20", "drd-50-60"], rate=[20, 40]),
    quick=dict(count=1200, delay_ms=[20], loss_percent=[3], rate=[40]),  # 30 s
    full=dict(count={20: 1200, 40: 2400}, replications=3),  # 60 s
)

lab.claim("A3i", "the two queues are the same under random loss, message by message",
          lambda r: r.mean(queue="drd-10-20").identical_to(r.mean(queue="drd-50-60")))
