"""Does a middlebox, or an agent, keep to RFC 4540? Python's standard library only, and nothing of the product's code."""
