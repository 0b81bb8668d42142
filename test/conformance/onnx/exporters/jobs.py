# Runs jobs that write a folder each. In: their names and functions. Out: one line per job, with the reason if
# it failed.
import logging
import shutil


def run_jobs(folder, wanted, jobs):
    """`jobs`: name, a function of the folder to write and further values, and those values."""
    logging.disable(logging.INFO)
    for name, make, values in jobs:
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            make(folder / name, *values)
            print(f"{name}: written", flush=True)
        except Exception as error:  # A failing exporter adds a line to the report; the others still run.
            shutil.rmtree(folder / name, ignore_errors=True)
            print(f"{name}: not written: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
