"""Ours: does the queue at the bottleneck matter more than the transport?"""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "SIP: queues at the bottleneck",
    source="ours",
    workload="sip", measure="one-way", response="none", invite_size=512, abort_lag_s=0,
    matrix=dict(profile=["modern", "tuned"], variant=["udp", "tcp", "sctp-unordered"], delay_ms=[45], link_mbit=[2],
                queue=["pfifo-50", "pfifo-250", "red", "codel", "pie", "fq_codel", "cake"],
                cross=["none", "tcp-1", "tcp-2", "tcp-6", "tcp-1@bbr", "tcp-2@bbr", "tcp-6@bbr"], rate=[160]),
    # One run's interval says nothing of how much runs beside a bulk connection differ.
    quick=dict(count=4800, queue=["pfifo-50", "red", "codel", "pie", "fq_codel", "cake"], cross=["tcp-1"], replications=3),
    full=dict(count=9600, replications=3),
    plots=[plot("p95", "Beside bulk TCP", "groups", quantity="p95", x="queue", panels=["cross"])],
)

lab.claim("Q1", "beside one bulk connection, fq_codel gives TCP a lower P95 than drop-tail",
          lambda r: r.p95(queue="fq_codel") < r.p95(queue="pfifo-50"), variant="tcp", cross="tcp-1")
lab.claim("Q2", "with fq_codel, P95 is below 100 ms whatever the transport",
          lambda r: r.p95() < 100, queue="fq_codel", cross=["none", "tcp-1"])
lab.claim("Q3", "with fq_codel, P95 is below 100 ms beside two and six bulk connections, too",
          lambda r: r.p95() < 100, queue="fq_codel", cross=["tcp-2", "tcp-6"])
lab.claim("Q4", "with cake, which shares by hosts first, P95 is below 100 ms",
          lambda r: r.p95() < 100, queue="cake", cross=["none", "tcp-1", "tcp-2", "tcp-6"])
