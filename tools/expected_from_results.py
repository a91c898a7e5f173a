#!/usr/bin/env python3
"""Writes a study's expected.json from the results of a run: what tests/studies/ holds later predictions against.

Usage: expected_from_results.py RESULTS_FOLDER EXPECTED.json

Values are rounded to seven digits. A tolerance that the file has already is kept; a new file gets 0.001.
"""

import csv
import json
import pathlib
import sys

# What a change of engine, policy or cost model moves. Latencies of one population each, and the counts behind them.
METRICS = """
completed_requests rejected_requests offered_requests_per_s ttft_p50_s ttft_p99_s tpot_p50_s tpot_p99_s itl_p99_s itl_max_s e2e_p50_s
normalised_mean_s_per_token output_tokens_per_s slo_attainment_share kv_capacity_blocks kv_peak_blocks kv_useful_share
running_mean_sequences preemptions steps
""".split()


def number(text):
    """A cell of table.csv; an empty one was not measured."""
    if not text:
        return None
    value = float(text)
    return int(value) if value.is_integer() else float(f"{value:.7g}")


def expectation(row, axes):
    return {"axes": {axis: row[axis] for axis in axes}, "metrics": {key: number(row[key]) for key in METRICS}}


def main(results, target):
    results, target = pathlib.Path(results), pathlib.Path(target)
    axes = json.loads((results / "manifest.json").read_text(encoding="utf-8"))["axes"]
    with open(results / "table.csv", encoding="utf-8", newline="") as table:
        points = [expectation(row, axes) for row in csv.DictReader(table)]
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    study = target.parent.name if target.name == "expected.json" else target.name.removesuffix(".expected.json")
    expected = {
        "made_by": f"tools/expected_from_results.py results/{study} experiments/{target.parent.name}/{target.name}",
        "relative_tolerance": known.get("relative_tolerance", 0.001),
        "points": points,
    }
    target.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
