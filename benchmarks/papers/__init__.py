"""What papers and methods claim, measured: figures, tables and theorems, utility at equal guarantee, audits."""
