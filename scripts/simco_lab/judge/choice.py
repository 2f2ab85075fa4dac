"""Which variant to use in a place: the first, in the scenario's order, of those that are as good as the best."""

from dataclasses import dataclass

from ..measure.combination import Combination
from .verdicts import compare

MARGIN = 1.05  # of each other one: who is slower by less is as good


@dataclass
class Choice:
    """The variants of a place. `as_good` is True, False or None (it cannot be told) for each of them."""

    combinations: list
    as_good: list

    @property
    def chosen(self) -> Combination | None:
        """The variant to use, None if that cannot be told: the order is that of the effort, so the first will do."""
        for combination, good in zip(self.combinations, self.as_good):
            if good is not False:
                return combination if good else None
        return None

    @property
    def possible(self):
        """Those that may be as good as the others, up to the first that is."""
        end = self.as_good.index(True) + 1 if True in self.as_good else len(self.as_good)
        return [one for one, good in zip(self.combinations[:end], self.as_good) if good is not False]


def is_as_good(one, others, quantity):
    """Returns whether a variant's quantity is certainly below that of each other one, of those that were not aborted, and the margin;
    False if it certainly is not below one of them."""
    if one.aborted:
        return False
    answers = {compare(one, other, quantity, MARGIN, shared=True).holds for other in others if not other.aborted}
    return False if False in answers else None if None in answers else True


def choose(combinations, quantity):
    """Returns the Choice among combinations that differ in their variant only."""
    return Choice(combinations, [is_as_good(one, [other for other in combinations if other is not one], quantity)
                                 for one in combinations])


def choices(combinations, quantity):
    """Returns {conditions without the variant: Choice}."""
    places = {}
    for one in combinations:
        places.setdefault(one.conditions.without("variant"), []).append(one)
    return {place: choose(group, quantity) for place, group in places.items()}
