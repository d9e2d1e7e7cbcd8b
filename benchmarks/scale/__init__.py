"""What records, candidates, workers and messages cost as they grow."""
