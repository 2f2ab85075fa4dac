"""What is written: tables, figures, and reports."""
