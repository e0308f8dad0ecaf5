#!/usr/bin/env bash
# Measures taco-trace against the peers and against its own targets. benches/README.md says what each figure means.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: benches/compare.sh [--sizes LIST] [--forms LIST] [--rounds N] [--cases LIST] [--peers LIST] [--raw FILE]
  --sizes   100M,1G,5G ...              (default 100M,1G)
  --forms   rich,lean                   (default both)
  --rounds  rounds of each case         (default 5)
  --cases   ingest,line,compressed,again,startup,parse,rules   (default all)
  --peers   duckdb,chdb or none         (default both)
  --raw     file the measurements are added to (default raw.jsonl in the folder of the benchmark)
environment:
  TACO_TRACE            the program (default: it is built)
  TACO_TRACE_BENCH_DIR  where files are made (default ~/.cache/taco-trace/bench)
TEXT
}

folder="${TACO_TRACE_BENCH_DIR:-$HOME/.cache/taco-trace/bench}"
sizes=100M,1G forms=rich,lean rounds=5 peers=duckdb,chdb raw=
cases=ingest,line,compressed,again,startup,parse,rules
while [ $# -gt 0 ]; do
    case "$1" in
        --sizes) sizes="$2" ;;
        --forms) forms="$2" ;;
        --rounds) rounds="$2" ;;
        --cases) cases="$2" ;;
        --peers) peers="$2" ;;
        --raw) raw="$2" ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift 2
done
raw="${raw:-$folder/raw.jsonl}"
mkdir -p "$folder"

# One cargo command, so that both are built with the features that the tests have, and DuckDB is compiled once.
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --bin taco-trace --example generate
generate="$target/release/examples/generate"
program="${TACO_TRACE:-$target/release/taco-trace}"

python="$folder/venv/bin/python"
if [ ! -x "$python" ]; then
    python3 -m venv "$folder/venv"
fi
if ! "$python" -c 'import duckdb, sys; sys.exit(duckdb.__version__ < "2")' 2>/dev/null; then
    "$python" -m pip install --quiet 'duckdb>=2,<3'
fi
# Inputs of another generator are not measured.
inputs="$folder/inputs-$(cat benches/generate.rs benches/traces/* | sha256sum | cut -c1-8)"
mkdir -p "$inputs"

has() { case ",$2," in *",$1,"*) return 0 ;; *) return 1 ;; esac }

if has chdb "$peers" && ! "$python" -c 'import chdb' 2>/dev/null \
    && ! "$python" -m pip install --quiet chdb 2>/dev/null; then
    echo 'chdb is not to be had: left out' >&2
    peers="${peers//chdb/}"
fi

"$python" benches/table.py --machine --into "$raw" --program "$program"

# NAME BYTES SEED [FLAG ...]: makes an input once and reads it into the page cache.
input() {
    local path="$inputs/$1"
    [ -f "$path" ] || "$generate" "$path" "${@:2}" >/dev/null
    cat "$path" >/dev/null
}

# CASE WHO ROUND INPUT COMMAND ...
measure() {
    local case="$1" who="$2" round="$3" bytes=0
    [ -z "$4" ] || bytes="$(stat -c %s "$4")"
    shift 4
    # What the run before left to be written must not disturb this one.
    sync
    "$python" benches/measure.py --into "$raw" --case "$case" --who "$who" --round "$round" --bytes "$bytes" -- "$@"
}

# CASE WHO ROUND INPUT [TOOLS [SUMS]]: taco-trace into $folder/ours.duckdb.
ours() {
    local tools="${5:-$4.tools.json}"
    measure "$1" "$2" "$3" "$4" "$program" ingest "$4" --tools "$tools" --db "$folder/ours.duckdb"
}

check() { "$python" benches/check.py "$@"; }

clear_stores() { rm -rf "$folder"/ours.duckdb* "$folder"/peer.duckdb* "$folder/peer.chdb"; }

ingest() { # FORM SIZE: ours and the peers in turn
    local name="$1-$2.jsonl" case="ingest-$1-$2" flag=
    [ "$1" = rich ] || flag=lean
    input "$name" "$2" 1 $flag
    local path="$inputs/$name"
    for round in $(seq "$rounds"); do
        clear_stores
        ours "$case" ours "$round" "$path"
        check "$folder/ours.duckdb" unique "$path.sums.json"
        if has duckdb "$peers"; then
            measure "$case" duckdb "$round" "$path" "$python" benches/peer.py "$path" "$folder/peer.duckdb"
            check "$folder/peer.duckdb" delivered "$path.sums.json"
        fi
        if has chdb "$peers"; then
            measure "$case" chdb "$round" "$path" "$python" benches/peer_chdb.py "$path" "$folder/peer.chdb"
            check "$folder/peer.chdb" delivered "$path.sums.json"
        fi
    done
    # The rules on what was just ingested, and the whole command.
    "$python" benches/rules.py --into "$raw" --program "$program" --store "$folder/ours.duckdb" --case "rules-of-$1-$2" --rounds 3
    for round in 1 2 3; do
        measure "diagnose-$1-$2" ours "$round" "$path" "$program" diagnose --db "$folder/ours.duckdb" --format jsonl
    done
}

line() {
    input one-line-200M.jsonl 200M 1 one-line
    local path="$inputs/one-line-200M.jsonl"
    for round in $(seq "$rounds"); do
        clear_stores
        ours line-200M ours "$round" "$path"
        check "$folder/ours.duckdb" unique "$path.sums.json"
    done
}

compressed() { # FORM SIZE
    local path="$inputs/$1-$2.jsonl" case="compressed-$1-$2" flag=
    [ "$1" = rich ] || flag=lean
    input "$1-$2.jsonl" "$2" 1 $flag
    [ -f "$path.zst" ] || zstd --quiet -3 -k "$path" -o "$path.zst"
    [ -f "$path.gz" ] || gzip -6 -k "$path"
    cat "$path.zst" "$path.gz" >/dev/null
    for round in $(seq "$rounds"); do
        for ending in "" .zst .gz; do
            clear_stores
            ours "$case" "plain$ending" "$round" "$path$ending" "$path.tools.json"
            check "$folder/ours.duckdb" unique "$path.sums.json"
        done
        measure "$case" decoder.zst "$round" "$path.zst" zstd --quiet -dc "$path.zst"
        measure "$case" decoder.gz "$round" "$path.gz" gzip -dc "$path.gz"
    done
}

again() { # FORM SIZE: the same file once more, then with 10 MB added
    local path="$inputs/$1-$2.jsonl" case="again-$1-$2" grown="$folder/grown.jsonl" flag=
    [ "$1" = rich ] || flag=lean
    input "$1-$2.jsonl" "$2" 1 $flag
    input "$1-10M.jsonl" 10M 2 $flag
    for round in $(seq "$rounds"); do
        clear_stores
        cp "$path" "$grown"
        ours "$case" first "$round" "$grown" "$path.tools.json"
        ours "$case" unchanged "$round" "$grown" "$path.tools.json"
        cat "$inputs/$1-10M.jsonl" >>"$grown"
        ours "$case" grown "$round" "$grown" "$path.tools.json"
        check "$folder/ours.duckdb" unique "$path.sums.json" "$inputs/$1-10M.jsonl.sums.json"
    done
    rm -f "$grown"
}

startup() {
    local rounds=21
    for round in $(seq "$rounds"); do
        measure startup help "$round" "" "$program" --help
        measure startup diagnose "$round" "" \
            "$program" diagnose fixtures/seed/traces.jsonl --tools fixtures/seed/tools.json
        # What the peers' runners cost before they begin: taken off their figures.
        measure startup duckdb "$round" "" "$python" -c 'import duckdb'
        if has chdb "$peers"; then
            measure startup chdb "$round" "" "$python" -c 'from chdb import session'
        fi
    done
}

clear_stores
if has startup "$cases"; then startup; fi
largest="${sizes##*,}"
for form in ${forms//,/ }; do
    if has ingest "$cases"; then
        for size in ${sizes//,/ }; do ingest "$form" "$size"; done
    fi
done
if has line "$cases"; then line; fi
# One size is enough for what compares taco-trace with itself: 1 GB, or the largest when that is not asked for.
one="$largest"
if has 1G "$sizes"; then one=1G; fi
if has compressed "$cases"; then compressed rich "$one"; fi
if has again "$cases"; then again rich "$one"; fi
if has parse "$cases"; then
    cargo bench --bench parse --no-run
    "$python" benches/measure.py --into "$raw" --case parse-run --who criterion --show -- \
        cargo bench --bench parse -- --noplot
    "$python" benches/table.py --criterion "$target/criterion" --into "$raw"
fi
if has rules "$cases"; then
    "$python" benches/rules.py --into "$raw" --program "$program" --generate "$generate" --folder "$inputs"
fi
clear_stores
"$python" benches/table.py --from "$raw"
