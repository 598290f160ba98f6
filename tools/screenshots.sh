#!/bin/sh
# Serve the example's documents for as long as pictures of the pages are taken.
set -eu
: "${VADE:=vade}" "${PYTHON:=python3}" "${PORT:=8124}" "${VADE_HOME:?}"
"$VADE" demo >/dev/null
key=$("$VADE" keys create --principal user:operator --scope read --scope write \
    --scope memory --scope admin --json | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["key"])')
"$VADE" serve --port "$PORT" &
serving=$!
trap 'kill "$serving"' EXIT
tries=0
until "$PYTHON" -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$PORT/health/ready')" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || exit 1
    sleep 1
done
VADE_URL="http://127.0.0.1:$PORT" VADE_KEY="$key" "$PYTHON" tools/screenshots.py
