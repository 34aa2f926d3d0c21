#!/usr/bin/env bash
# Serves as the image does, in a mount namespace of its own: container.sh DATA PYTHON ROOT
set -eu
data=$1 python=$2 root=$3

mount --make-rprivate /
mount --bind "$data" /mnt
mount -o remount,bind,ro /
exec 9<"$root"
mount -t tmpfs -o mode=1777 tmpfs /tmp
if [ ! -d "$root" ]; then
  # A checkout below /tmp is hidden by now; it is still open.
  mkdir -p "$root"
  mount --no-canonicalize --bind /proc/self/fd/9 "$root"
fi
exec 9<&-
cd "$root"
touch "$root/.written" || true

export HOME=/tmp PYTHONDONTWRITEBYTECODE=1 FRONTDESK_DATA_DIR=/mnt HOST=127.0.0.1 PORT=0
export FRONTDESK_ADMIN_TOKEN=an-invented-token-of-thirty-two-characters
as="setpriv --reuid 10001 --regid 10001 --clear-groups"
$as "$python" -m ingestion folder "$root/infra/sample/it/accounts" --space IT
: >/mnt/said
$as "$python" -m bot serve >>/mnt/said 2>&1 &
server=$!
trap 'kill -KILL "$server" 2>/dev/null || true' EXIT
for _ in $(seq 300); do
  address=$(sed -n 's/^Serving \(http[^ ]*\).*/\1/p' /mnt/said)
  [ -n "$address" ] && break
  kill -0 "$server"
  sleep 0.2
done
"$python" - "$address" <<'PYTHON'
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print("ready", opener.open(sys.argv[1] + "/ready", timeout=20).status, flush=True)
PYTHON
kill -TERM "$server"
code=0
wait "$server" || code=$?
echo "ended $code"
