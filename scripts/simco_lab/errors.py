"""The exceptions of the laboratory."""


class LabError(Exception):
    """A failure, with its remedy."""


class ScenarioError(LabError):
    """An error in a scenario file, as FILE:LINE: text."""


class BadRun(LabError):
    """A reason to discard the results of a run."""
