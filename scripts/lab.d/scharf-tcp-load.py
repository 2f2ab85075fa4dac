"""Figure 8 of the Globecom 2006 paper of Scharf and Kiesel: load on parallel TCP connections at 1 % loss."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Echo over TCP: connections and load",
    source="Globecom 2006, figures 8 and 9",
    workload="echo",
    matrix=dict(profile=["modern", "2006", "tuned"], variant=["tcp", "tcp-2", "tcp-4", "tcp-8", "tcp-16"], delay_ms=[10],
                loss_percent=[1], rate=[1, 3, 10, 30, 40, 100, 200, 300, 400, 1000, 2000, 3000, 5000]),
    quick=dict(count={1: 300, 10: 5000, 100: 20000, 1000: 50000}, profile=["2006", "tuned"], variant=["tcp", "tcp-4", "tcp-16"],
               rate=[10, 30, 40, 100, 200, 400, 1000]),
    full=dict(count={1: 2000, 10: 10000, 100: 100000, 1000: 200000}),
    plots=[
        plot("mean-over-load-per-connection", "TCP over load per connection, 1 % loss", "mean", x="rate_per_connection",
             log_x=True, model=True, paper_figure="figure 8"),
    ],
)

lab.claim("E6", "four connections at 400/s and more are better than one",
          lambda r: r.mean("tcp-4") < r.mean("tcp"), rate=[1000, 2000, 3000])
lab.claim("G9", "four connections at 40/s are as fast as one at 10/s",
          lambda r: r.mean("tcp-4", rate=40).like(r.mean("tcp", rate=10)))
lab.claim("G9b", "four connections at 400/s are as fast as one at 100/s",
          lambda r: r.mean("tcp-4", rate=400).like(r.mean("tcp", rate=100)))
lab.claim("G10", "delays are least near mu, 173/s on a connection: at 200/s less than at 30/s",
          lambda r: r.mean(rate=200) < r.mean(rate=30), variant="tcp")
lab.claim("G10b", "and less than at 1000/s",
          lambda r: r.mean(rate=200) < r.mean(rate=1000), variant="tcp")
