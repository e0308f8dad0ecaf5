#!/usr/bin/env python3
"""Runs a command and writes one JSON line: wall and CPU seconds, peak memory, and whether the machine was shared.

    measure.py --into RAW.jsonl --case NAME --who NAME [--round N] [--bytes N] -- COMMAND ...

A run is `shared` when the rest of the machine used more than 0.15 of a core meanwhile: its wall time says
nothing then. CPU seconds and peak memory come from the kernel's account of the child (wait4), so that no other
tool is needed. Linux only.
"""

import argparse
import json
import os
import sys
import time

OTHERS_CORES = 0.15
# /proc/stat counts in hundredths of a second, so that a short run cannot be judged more exactly.
OTHERS_SLACK_SECONDS = 0.05


def busy_seconds():
    """CPU seconds that the whole machine has spent since it was started, stolen ones included."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run(command, quiet=True):
    """Runs the command to its end; its standard output and error are thrown away when it is `quiet`."""
    actions = []
    if quiet:
        actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    others_before, started = busy_seconds(), time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall, busy = time.perf_counter() - started, busy_seconds() - others_before
    cpu = usage.ru_utime + usage.ru_stime
    others = max(busy - cpu, 0.0)
    return {
        "wall": round(wall, 4),
        "cpu": round(cpu, 4),
        "user": round(usage.ru_utime, 4),
        "system": round(usage.ru_stime, 4),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6, 1),
        "exit": os.waitstatus_to_exitcode(status),
        "others": round(others, 3),
        "shared": others > OTHERS_CORES * wall + OTHERS_SLACK_SECONDS,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", required=True, help="file to add the line to")
    parser.add_argument("--case", required=True)
    parser.add_argument("--who", required=True)
    parser.add_argument("--round", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=0, help="size of the input")
    parser.add_argument("--show", action="store_true", help="let the command print")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    measured = run(command, quiet=not arguments.show)
    if measured["exit"] != 0:
        sys.exit(f"{' '.join(command)} ended with {measured['exit']}")
    record = {"case": arguments.case, "who": arguments.who, "round": arguments.round, "bytes": arguments.bytes}
    record.update(measured)
    with open(arguments.into, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    note = "  (machine shared)" if measured["shared"] else ""
    print(
        f"{arguments.case:24} {arguments.who:12} round {arguments.round}  wall {measured['wall']:8.3f} s"
        f"  CPU {measured['cpu']:8.3f} s  peak {measured['peak_mb']:7.0f} MB{note}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
