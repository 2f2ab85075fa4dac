"""Verdicts on measurements: the papers' model, comparisons, and the claims of scenarios."""
