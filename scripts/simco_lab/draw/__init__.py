"""The output: tables, figures, and reports."""
