#!/bin/bash
# Ten minutes of one GPU: bash experiments/robots_sitting.sh OUT [more options of robots.py]
# The stock recipe from scratch, then `spacil smooth` of it beside fine-tuning, each a process with a time limit.
out=$1; shift
run() { timeout "$1" python3 experiments/robots.py "$2" "$out" "${@:3}" > "$out/$2.log" 2>&1; echo "$2: exit $?"; }
run 275 stock --seconds 215 "$@"
run 285 smooth --worlds 1024 "$@" &
run 285 finetune --seconds 255 --each 36 --steps 100 "$@" &
wait
