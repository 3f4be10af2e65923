"""What takes hours: `python -m benchmarks.campaigns NAME`. Counts are kept in `benchmarks/campaigns/counts`."""
