"""How good are the results? Metrics, and small experiments that can be checked by hand."""
