"""What the laboratory raises."""


class LabError(Exception):
    """What went wrong, and what to do about it."""


class ScenarioError(LabError):
    """What is wrong with a scenario, and where: FILE:LINE: text."""


class BadRun(LabError):
    """Why the results of a run cannot be believed."""
