# The trace of `replay` with outages of other kinds, and with fewer queries. Its names are of many domains. Started by
# scripts/bench: outages [--smoke].
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
# run RATE OUTAGE OPTION...
run() {
    echo "== outage $2, $1 queries a second"
    DOMAINS=100 RATE=$1 OUTAGE=$2 scripts/bench replay "${@:3}" || status=1
    echo
}

for outage in failing throttling resetting one-address slow; do run 150 "$outage" "$@"; done
run 40 silent "$@"
exit "$status"
