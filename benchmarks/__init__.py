"""Time, memory and utility, measured: `python -m benchmarks`, or `python -m benchmarks assess` for one."""
