#!/usr/bin/env bash
# Builds the Dockerfile by buildah, without a daemon and without an image registry, and tries it: build_image.sh [WORK]
#
# The base image can't be pulled where only package registries are reached. Then this makes a stand-in of the same
# name: Debian bookworm by debootstrap, with Debian's own Python 3.11. Needs root, and `apt install buildah debootstrap`.
# BUILD_VOLUMES names what the build may read of this machine besides (HOST:CONTAINER:ro, by blanks), such as pip's
# configuration where packages come through a mirror.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${1:-.build/image}
base=docker.io/library/python:3.11-slim-bookworm
mkdir -p "$work"
work=$(realpath "$work")
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah=(buildah --root "$work/storage" --runroot "$work/run")

if ! "${buildah[@]}" inspect --type image "$base" >/dev/null 2>&1; then
  if ! timeout 60 "${buildah[@]}" pull -q "$base"; then
    echo "$base can't be pulled: a stand-in is made by debootstrap"
    [ -x "$work/root/usr/bin/python" ] || debootstrap --variant=minbase \
      --include=python3,python3-venv,python-is-python3,ca-certificates bookworm "$work/root" >"$work/debootstrap.log"
    container=$("${buildah[@]}" from scratch)
    "${buildah[@]}" add -q "$container" "$work/root" /
    "${buildah[@]}" commit -q --rm "$container" "$base"
  fi
fi

volumes=()
for volume in ${BUILD_VOLUMES:-}; do
  volumes+=(--volume "$volume")
done
"${buildah[@]}" bud --pull-never "${volumes[@]}" --tag frontdesk --file Dockerfile .

container=$("${buildah[@]}" from --pull-never frontdesk)
trap '"${buildah[@]}" rm "$container" >/dev/null' EXIT
"${buildah[@]}" run "$container" -- sh -eu -c '
  test "$(id -u)" = 10001
  export PORT=39780 HOST=127.0.0.1
  python -m bot serve --sample >/tmp/said 2>&1 &
  for _ in $(seq 300); do
    grep -q "^Serving" /tmp/said && break
    kill -0 $! || { cat /tmp/said; exit 1; }
    sleep 0.5
  done
  python -c "import urllib.request as u; print(\"/health\", u.urlopen(\"http://127.0.0.1:39780/health\").status)"
  kill -TERM $! && wait $! && echo "stopped by SIGTERM"
'
