"""The analytical model of response times under loss: equations 1 to 5 of Scharf and Kiesel,
"Head-of-line Blocking in TCP and SCTP: Analysis and Measurements", Globecom 2006.

Times are milliseconds, rates transactions per second, p is the probability that a packet is lost.
`d` is the mean time between messages, N the streams of an association or the TCP connections.
The model knows one loss at a time: it leaves out overlapping recoveries, lost retransmissions and congestion
control. `valid` says when that is a fair approximation.
"""

import math
from dataclasses import dataclass

DELTA_MS = 0.5  # the paper's processing time in the end systems


@dataclass(frozen=True)
class Path:
    rtt_ms: float
    rate: float
    loss: float
    rto_ms: float

    @property
    def d_ms(self):
        return 1000.0 / self.rate


def detection_ms(path, connections=1):
    """Equation 1, and equation 4 for parallel TCP connections: the time D until a lost message has been
    retransmitted and arrives, triggered by three later messages or by a timeout."""
    gap = path.d_ms * connections
    return min(path.rtt_ms + 3 * gap, path.rto_ms + max(path.rtt_ms - gap, 0.0))


def waiting_ms(path, streams=1, connections=1):
    """Equation 2: W, the mean time that resequencing adds to the one-way delay."""
    gap = path.d_ms * streams * connections
    detect = detection_ms(path, connections)
    held = math.floor(detect / gap)
    return path.loss * ((held + 1) * detect - held * (held + 1) / 2 * gap)


def waiting_unordered_ms(path):
    """Equation 3: W if no message waits for another."""
    return path.loss * detection_ms(path)


def response_ms(path, streams=1, connections=1, unordered=False, delta_ms=DELTA_MS):
    """Equation 5: the mean response time R; both directions lose."""
    wait = waiting_unordered_ms(path) if unordered else waiting_ms(path, streams, connections)
    return path.rtt_ms + 2 * wait + delta_ms


def streams_enough(path):
    """M: with this many streams, no message waits for a loss of another stream."""
    return math.ceil(detection_ms(path) / path.d_ms)


def alpha(rto_ms):
    """The rate per connection above which three later messages arrive before the timeout."""
    return 3000.0 / rto_ms


def mu(rtt_ms):
    """The rate per connection with the lowest mean response time."""
    return 2 * math.sqrt(3) * 1000.0 / rtt_ms


def connections_best(rate, rtt_ms):
    """N_opt: the number of parallel TCP connections with the lowest mean response time."""
    return rate / mu(rtt_ms)


def valid(path, streams=1, connections=1):
    """Returns whether the model's assumption holds, that another loss during a recovery is rare: with
    p (Q + 1) below 0.1, that affects less than every tenth recovery."""
    gap = path.d_ms * streams * connections
    return path.loss * (math.floor(detection_ms(path, connections) / gap) + 1) < 0.1
