"""The subject of measurements: catalogue, networks and queues, the conditions of a point, and the files of scenarios."""

from .files import EXAMPLE, SCALES, Claim, Scenario, ScenarioError, available, find, paper, plot, read  # noqa: F401 - for scenarios
