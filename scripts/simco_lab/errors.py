"""The exceptions of the laboratory."""


class LabError(Exception):
    """What went wrong, and what to do about it."""


class ScenarioError(LabError):
    """An error in a scenario file, as FILE:LINE: text."""


class BadRun(LabError):
    """Why the results of a run cannot be believed."""
