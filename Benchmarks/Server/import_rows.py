#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures `optimist import`: new rows, and the same file again.

    Benchmarks/Server/import_rows.py [--rows 1000000] [--accounts 1000] [--format jsonl] [--only embedded,postgres]

The rows of the accounts are mixed in the file. OPTIMIST is the path of the command. PostgreSQL needs its programs, and
its server runs during the import.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from service_key import Job, key  # noqa: E402
from servers import OPTIMIST, Cluster, Server  # noqa: E402


def write(path, accounts, rows):
    text = "A row of a usual length, such as a to-do has"
    with path.open("w") as file:
        if path.suffix == ".csv":
            file.write("account,id,content\n")
        for number in range(rows):
            account, row = accounts[number % len(accounts)], f"{number:08x}-0000-4000-8000-000000000000"
            file.write(f"{account},{row},{text}\n" if path.suffix == ".csv" else json.dumps(
                {"account": account, "id": row, "content": text}) + "\n")


def imported(path, *place):
    """The seconds, the CPU seconds the most memory in MB, and the output of an import."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [OPTIMIST, "import", str(path), "--type", "todo", "--account-from", "column", *place], stdout=subprocess.PIPE,
        text=True)
    peak = [0]

    def watch():
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak[0] = max(peak[0], int(status.split("VmHWM:")[1].split()[0]) / 1000)
            except (OSError, IndexError):
                return
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.stdout.read().strip()
    process.wait()
    seconds = time.perf_counter() - begun
    watcher.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, said
    return seconds, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, peak[0], said


def measure(store, server, options, folder, *place):
    job = Job(server, key(*place))
    accounts = [job.account(number) for number in range(options.accounts)]
    path = Path(folder, f"rows.{options.format}")
    write(path, accounts, options.rows)
    if "--data" in place:
        server.process.terminate()
        server.process.wait(60)
    for what in ("new", "again"):
        seconds, cpu, peak, said = imported(path, *place)
        expected = f"{options.rows} rows written, 0" if what == "new" else f"0 rows written, {options.rows} unchanged"
        assert said.startswith(expected), said
        print(f"| {store} | {options.format} | {what} | {options.rows:,} | {options.accounts:,} | {seconds:.1f} | "
              f"{options.rows / seconds:,.0f} | {cpu:.1f} | {peak:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--accounts", type=int, default=1000)
    parser.add_argument("--format", choices=["jsonl", "csv"], default="jsonl")
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    print(f"Load {os.getloadavg()[0]:.1f}\n")
    print("| store | format | rows are | rows | accounts | s | rows/s | the command's CPU, s | its memory, MB |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="optimist-import-") as folder:
        if "embedded" in options.only:
            with Server("--data", f"{folder}/data") as server:
                measure("embedded", server, options, folder, "--data", f"{folder}/data")
        if "postgres" in options.only:
            with Cluster() as cluster, Server.shared(cluster) as server:
                measure("PostgreSQL", server, options, folder, "--database", cluster.url, "--secret", str(cluster.secret))


if __name__ == "__main__":
    main()
