"""What each method would give, before anything is spent. Knows no data; draws nothing."""
