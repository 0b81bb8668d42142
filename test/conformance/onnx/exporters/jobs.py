# Runs jobs that write a folder each. In: their names and functions. Out: a line each, with why one was not written.
import logging
import shutil


def run_jobs(folder, wanted, jobs):
    """`jobs`: name, function of the folder to write and of the values after it, these values."""
    logging.disable(logging.INFO)
    for name, make, values in jobs:
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            make(folder / name, *values)
            print(f"{name}: written", flush=True)
        except Exception as error:  # What an exporter does not write is a line of the report, not the end of it.
            shutil.rmtree(folder / name, ignore_errors=True)
            print(f"{name}: not written: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
