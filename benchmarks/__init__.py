"""Timings of what people wait for, each beside a stated baseline. `python -m benchmarks` runs all; no test asserts."""
