# What a fleet saves: daemons that share answers by a real Redis, beside the same daemons alone. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

install_missing "${bench_packages[@]}" redis-server
for product in httpdnsd httpdns-lab httpdnsctl; do
    swift build -c release --static-swift-stdlib --product "$product" >&2
done
exec python3 Tests/Benchmarks/fleet.py "$@"
