"""What the measurements say: the papers' model, comparisons, and the claims of scenarios."""
