"""The text of the Globecom 2006 paper of Scharf and Kiesel: N_opt = rate * RTT / (2 sqrt 3) parallel TCP connections
have the least mean; 1.7 at 300/s, 5.8 at 1000/s, 17 at 3000/s."""

from simco_lab.scenario import Scenario, plot

lab = Scenario(
    "Echo over TCP: the best number of connections",
    source="Globecom 2006, section IV",
    workload="echo",
    matrix=dict(profile=["modern", "2006", "tuned"],
                variant=["tcp", "tcp-2", "tcp-3", "tcp-4", "tcp-6", "tcp-8", "tcp-12", "tcp-17", "tcp-24", "tcp-32"],
                delay_ms=[10], loss_percent=[1], rate=[300, 1000, 3000]),
    quick=dict(count=40000, profile=["2006"], variant=["tcp", "tcp-2", "tcp-6", "tcp-17"], rate=[300, 1000]),
    full=dict(count={300: 100000, 1000: 200000}),
    plots=[
        plot("mean-over-connections", "Mean over parallel connections, 1 % loss", "mean", x="connections", curves="rate",
             log_x=True, model=True),
    ],
)

lab.claim("N1", "at 1000/s six connections are better than one",
          lambda r: r.mean("tcp-6") < r.mean("tcp"), rate=1000)
lab.claim("N2", "at 300/s two connections are better than six",
          lambda r: r.mean("tcp-2") < r.mean("tcp-6"), rate=300)
