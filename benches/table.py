#!/usr/bin/env python3
"""Makes the tables of the benchmark from the raw measurements: no figure is typed.

    table.py --from RAW.jsonl                      prints them
    table.py --from RAW.jsonl --write FILE ...     puts them between the marks <!-- goals --> and <!-- /goals -->,
                                                   <!-- figures --> and <!-- /figures --> that FILE has
    table.py --into RAW.jsonl --machine --program PATH      adds a line on machine and versions
    table.py --into RAW.jsonl --criterion FOLDER            adds what `cargo bench --bench parse` measured

A ratio is taken round by round, of runs that stood side by side, and its median and range are told. A round in which
one of the two met a shared machine gives no wall-time ratio; with less than three rounds left, the cell says so.
CPU ratios hold on a shared machine too, within about 15 %.
"""

import argparse
import datetime
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys

SHARED = "machine shared"
MIN_ROUNDS = 3


class Raw:
    def __init__(self, path):
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        self.records = [json.loads(line) for line in lines]
        # Each run of compare.sh begins with a line on the machine; a case counts as the last run measured it.
        self.by_key, measured_in, run = {}, {}, 0
        for record in self.records:
            if record["case"] == "machine":
                run += 1
                continue
            if measured_in.get(record["case"]) != run:
                self.by_key = {key: kept for key, kept in self.by_key.items() if key[0] != record["case"]}
                measured_in[record["case"]] = run
            self.by_key[(record["case"], record["who"], record["round"])] = record

    def rounds(self, case, who):
        return {key[2]: record for key, record in self.by_key.items() if key[:2] == (case, who)}

    def median(self, case, who, field, quiet=False):
        values = [r[field] for r in self.rounds(case, who).values() if not (quiet and r["shared"])]
        return statistics.median(values) if values else None

    def lowest(self, case, who, field):
        return min((r[field] for r in self.rounds(case, who).values()), default=None)

    def largest(self, start):
        """The name of the case that starts so and has the largest input, 1G before all others."""
        sizes = {}
        for record in self.by_key.values():
            if record["case"].startswith(start):
                sizes[record["case"]] = max(record["bytes"], sizes.get(record["case"], 0))
        if start + "1G" in sizes:
            return start + "1G"
        return max(sizes, key=sizes.get, default=None)

    def startup(self, who, field):
        """What a peer's interpreter costs before it begins; nothing for ours."""
        return (self.median("startup", who, field) or 0.0) if who in ("duckdb", "chdb") else 0.0

    def ratios(self, case, upper, lower, field):
        """upper / lower, round by round; None where it was not measured, [] where the machine was shared."""
        above, below = self.rounds(case, upper), self.rounds(case, lower)
        both = sorted(above.keys() & below.keys())
        if not both:
            return None
        found = []
        for number in both:
            if field == "wall" and (above[number]["shared"] or below[number]["shared"]):
                continue
            top = above[number][field] - self.startup(upper, field)
            bottom = below[number][field] - self.startup(lower, field)
            if bottom > 0:
                found.append(top / bottom)
        return found if len(found) >= min(MIN_ROUNDS, len(both)) else []


def spread(values, unit=" ×", digits=1):
    if values is None:
        return "–"
    if not values:
        return SHARED
    middle = f"{statistics.median(values):.{digits}f}{unit}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f} – {max(values):.{digits}f})"


def percent(values):
    return spread(None if values is None else [100 * value for value in values], " %")


def ratio(start, upper, lower, field="wall"):
    def cell(raw):
        case = raw.largest(start)
        return spread(raw.ratios(case, upper, lower, field) if case else None)
    return cell


def share(start, part, whole, field="wall"):
    def cell(raw):
        case = raw.largest(start)
        return percent(raw.ratios(case, part, whole, field) if case else None)
    return cell


def parse_share(form):
    def cell(raw):
        case = raw.largest(f"ingest-{form}-")
        step = raw.rounds("parse", f"{form}/document").get(1)
        cpu = raw.median(case, "ours", "cpu") if case else None
        if not step or not cpu:
            return "–"
        # Criterion measures wall time.
        if any(record["shared"] for record in raw.rounds("parse-run", "criterion").values()):
            return SHARED
        size = max(record["bytes"] for record in raw.rounds(case, "ours").values())
        return f"{100 * size * step['seconds_per_byte'] / cpu:.0f} %"
    return cell


def peaks(raw):
    found = []
    for case in sorted({key[0] for key in raw.by_key if key[0].startswith("ingest-")}, key=size_of):
        found.append(f"{case.removeprefix('ingest-')}: {raw.median(case, 'ours', 'peak_mb'):.0f} MB")
    return ", ".join(found) or "–"


def size_of(case):
    number, unit = re.fullmatch(r".*-(\d+)([KMG]?)", case).groups()
    return int(number) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit], case


def growth(field):
    def cell(raw):
        found = []
        for form in ("rich", "lean"):
            cases = sorted({key[0] for key in raw.by_key if key[0].startswith(f"ingest-{form}-")}, key=size_of)
            cases = [case for case in cases if size_of(case)[0] >= 1e9]
            if len(cases) > 1:
                first, last = cases[0], cases[-1]
                times = [raw.median(case, "ours", field, quiet=field == "wall") for case in (first, last)]
                if None in times:
                    found.append(f"{form}: {SHARED}")
                    continue
                factor = size_of(last)[0] / size_of(first)[0]
                found.append(f"{form}: {times[1] / times[0]:.2f} × for {factor:g} × the bytes")
        return ", ".join(found) or "–"
    return cell


def line_peak(raw):
    records = raw.rounds("line-200M", "ours").values()
    return spread([r["peak_mb"] * 1e6 / r["bytes"] for r in records] or None)


def rules_sum(raw, case, field="cpu"):
    names = {key[1] for key in raw.by_key if key[0] == case and key[1].startswith("rule_")}
    return sum(raw.median(case, name, field) for name in names) if names else None


def rules_to_sort(raw):
    case = "rules-1000000"
    rules, sort = rules_sum(raw, case), raw.median(case, "row_number", "cpu")
    return f"{rules / sort:.1f} ×" if rules and sort else "–"


def rules_growth(raw):
    one, ten = rules_sum(raw, "rules-1000000"), rules_sum(raw, "rules-10000000")
    return f"{ten / one:.1f} ×" if one and ten else "–"


def newest(raw):
    found = []
    for case, name in (("rules-1000000", "1 M"), ("rules-10000000", "10 M")):
        whole, newest = (raw.median(case, who, "cpu") for who in ("diagnose_all", "diagnose_newest"))
        if whole and newest:
            found.append(f"{name}: {100 * newest / whole:.0f} %")
    return ", ".join(found) or "–"


def rules_to_ingest(raw):
    found = []
    for form in ("rich", "lean"):
        case = raw.largest(f"ingest-{form}-")
        if not case:
            continue
        rules = raw.median(case.replace("ingest-", "rules-of-"), "all_rules", "cpu")
        ingest = raw.median(case, "ours", "cpu")
        if rules and ingest:
            found.append(f"{form}: {100 * rules / ingest:.0f} %")
    return ", ".join(found) or "–"


def compressed(ending, with_decoder):
    def cell(raw):
        case = raw.largest("compressed-")
        if not case:
            return "–"
        ratios = raw.ratios(case, f"plain{ending}", "plain", "wall")
        if with_decoder and ratios:
            decoder = raw.ratios(case, f"plain{ending}", f"decoder{ending}", "wall")
            ratios = [min(pair) for pair in zip(ratios, decoder)] if decoder else decoder
        return spread(ratios)
    return cell


def milliseconds(who):
    def cell(raw):
        value = raw.lowest("startup", who, "wall")
        return f"{1000 * value:.0f} ms" if value else "–"
    return cell


GOALS = [
    ("ingest, DuckDB's read_json SQL over ours, wall, rich", "6 ×", "10 ×", ratio("ingest-rich-", "duckdb", "ours")),
    ("the same, lean", "8 ×", "12 ×", ratio("ingest-lean-", "duckdb", "ours")),
    ("ingest, DuckDB's CPU over ours, rich", "5 ×", "8 ×", ratio("ingest-rich-", "duckdb", "ours", "cpu")),
    ("the same, lean", "5 ×", "8 ×", ratio("ingest-lean-", "duckdb", "ours", "cpu")),
    ("ingest, chdb over ours, wall, rich", "1.0 ×", "1.5 ×", ratio("ingest-rich-", "chdb", "ours")),
    ("the same, lean", "1.0 ×", "1.5 ×", ratio("ingest-lean-", "chdb", "ours")),
    ("ingest, chdb's CPU over ours, rich", "", "", ratio("ingest-rich-", "chdb", "ours", "cpu")),
    ("the same, lean", "", "", ratio("ingest-lean-", "chdb", "ours", "cpu")),
    ("parsing alone, share of ingest CPU, rich", "≥ 25 %", "≥ 40 %", parse_share("rich")),
    ("the same, lean", "≥ 25 %", "≥ 40 %", parse_share("lean")),
    ("peak memory of ingest", "≤ 300 MB", "≤ 220 MB", peaks),
    ("peak memory, largest size over 1 GB", "≤ 1.5 ×", "", growth("peak_mb")),
    ("wall, largest size over 1 GB", "≤ 1.1 × the bytes", "", growth("wall")),
    ("CPU, largest size over 1 GB", "", "", growth("cpu")),
    ("one line of 200 MB, peak memory over the line", "≤ 3 ×", "≤ 1.5 ×", line_peak),
    ("five rules, CPU over that of row_number() by trace, 1 M calls", "≤ 2.5 ×", "≤ 1.5 ×", rules_to_sort),
    ("five rules, CPU, 10 M calls over 1 M", "≤ 13 ×", "≤ 11 ×", rules_growth),
    ("`diagnose` of the newest 1 % of runs over all, CPU", "≤ 10 %", "≤ 4 %", newest),
    ("rules over ingest of the same spans, CPU", "≤ 10 %", "≤ 5 %", rules_to_ingest),
    ("the unchanged file once more over the first time, wall", "≤ 2 %", "", share("again-", "unchanged", "first")),
    ("10 MB added, over the first time, wall", "≤ 5 %", "", share("again-", "grown", "first")),
    ("zstd input over plain, wall", "≤ 1.5 ×", "", compressed(".zst", False)),
    ("gzip input over the slower of `gzip -dc` and plain, wall", "≤ 1.2 ×", "", compressed(".gz", True)),
    ("`diagnose` of the seed's eight runs, start to end", "≤ 150 ms", "", milliseconds("diagnose")),
    ("`--help`", "≤ 20 ms", "", milliseconds("help")),
]


def goals(raw):
    machine = [record for record in raw.records if record["case"] == "machine"]
    lines = []
    if machine:
        last = machine[-1]
        lines += [f"{last['date']}, {last['processor']}, {last['cores']} cores, {last['memory_gb']:.0f} GB, "
                  f"{last['system']}. {last['versions']}.", ""]
    lines += ["| goal | must | aim | result |", "|---|---|---|---|"]
    lines += [f"| {name} | {must or '–'} | {aim or '–'} | {cell(raw)} |" for name, must, aim, cell in GOALS]
    return "\n".join(lines) + "\n"


def figures(raw):
    lines = ["Medians; wall times only of runs that had the machine to themselves.", ""]
    lines += ["| case | who | rounds | wall s | CPU s | peak MB | MB/s of wall |", "|---|---|---|---|---|---|---|"]
    seen = []
    for case, who, _ in raw.by_key:
        if (case, who) not in seen and not case.startswith("parse"):
            seen.append((case, who))
    for case, who in seen:
        records = raw.rounds(case, who)
        wall, cpu = raw.median(case, who, "wall", quiet=True), raw.median(case, who, "cpu")
        peak, size = raw.median(case, who, "peak_mb"), max(r["bytes"] for r in records.values())
        speed = f"{size / wall / 1e6:.0f}" if wall and size else "–"
        wall_text = f"{wall:.3f}" if wall else SHARED
        lines.append(f"| {case} | {who} | {len(records)} | {wall_text} | {cpu:.3f} | {peak or 0:.0f} | {speed} |")
    steps = sorted((key[1], record) for key, record in raw.by_key.items() if key[0] == "parse")
    if any(record["shared"] for record in raw.rounds("parse-run", "criterion").values()):
        lines += ["", f"Steps of ingest: {SHARED}."]
    elif steps:
        lines += ["", "| step, one thread, 4 MB in memory | MB/s |", "|---|---|"]
        lines += [f"| {who} | {1 / record['seconds_per_byte'] / 1e6:.0f} |" for who, record in steps]
    return "\n".join(lines) + "\n"


def machine(program):
    def said(command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""
    processor = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = re.search(r"MemTotal:\s*(\d+) kB", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8"))
    versions = [said([program, "--version"]), said(["rustc", "--version"])]
    commit = said(["git", "describe", "--always", "--dirty"])
    versions[0] += f" ({commit})" if commit else ""
    for package in ("duckdb", "chdb"):
        version = said([sys.executable, "-c", f"import {package}; print({package}.__version__)"])
        versions.append(f"{package} {version}" if version else f"without {package}")
    return {
        "case": "machine",
        "date": datetime.date.today().isoformat(),
        "processor": processor.group(1) if processor else platform.machine(),
        "cores": len(re.findall(r"^cpu\d", pathlib.Path("/proc/stat").read_text(encoding="ascii"), re.MULTILINE)),
        "memory_gb": int(memory.group(1)) * 1024 / 1e9 if memory else 0,
        "system": f"{platform.system()} {platform.release()}",
        "versions": ", ".join(versions),
    }


def criterion(folder):
    """What criterion measured, as it keeps it: nanoseconds of a pass over so many bytes."""
    for file in sorted(pathlib.Path(folder).glob("*/*/new/benchmark.json")):
        benchmark = json.loads(file.read_text(encoding="utf-8"))
        estimates = json.loads((file.parent / "estimates.json").read_text(encoding="utf-8"))
        size, seconds = benchmark["throughput"]["Bytes"], estimates["median"]["point_estimate"] / 1e9
        name = f"{benchmark['group_id']}/{benchmark['function_id']}"
        yield {"case": "parse", "who": name, "round": 1, "bytes": size, "seconds_per_byte": seconds / size}


def write(path, sections):
    file = pathlib.Path(path)
    text, found = file.read_text(encoding="utf-8"), False
    for name, section in sections.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if start in text and end in text:
            before, rest = text.split(start, 1)
            text, found = before + start + section + end + rest.split(end, 1)[1], True
    if not found:
        sys.exit(f"{path} has none of the marks: {', '.join(sections)}")
    file.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source")
    parser.add_argument("--write", nargs="+", default=[])
    parser.add_argument("--into")
    parser.add_argument("--machine", action="store_true")
    parser.add_argument("--program", default="target/release/taco-trace")
    parser.add_argument("--criterion")
    arguments = parser.parse_args()
    if arguments.into:
        records = [machine(arguments.program)] if arguments.machine else []
        records += criterion(arguments.criterion) if arguments.criterion else []
        with open(arguments.into, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    if arguments.source:
        raw = Raw(arguments.source)
        sections = {"goals": goals(raw), "figures": figures(raw)}
        for path in arguments.write:
            write(path, sections)
        if not arguments.write:
            print("\n".join(sections.values()), end="")



if __name__ == "__main__":
    main()
