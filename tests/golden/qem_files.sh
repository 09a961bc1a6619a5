# SPDX-License-Identifier: MIT
# Files of this format are read forever: each golden .qem verifies, gives back the counts whose SHA-256 stands beside it, and
# survives being written again.
set -eu
golden=$SOURCE_DIR/tests/golden/qem
while read -r want name; do
    "$RONCHI" verify "$golden/$name" >/dev/null
    "$RONCHI" convert "$golden/$name" again.qem --verify --force --quiet
    for file in "$golden/$name" again.qem; do
        "$RONCHI" export "$file" counts.npy --force --quiet
        got=$(tail -c +129 counts.npy | sha256sum | cut -d' ' -f1) # behind the header of 128 bytes
        [ "$got" = "$want" ] || { echo "$name: counts have SHA-256 $got, not $want"; exit 1; }
    done
done <"$golden/counts.sha256"
