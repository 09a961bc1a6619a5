#!/bin/sh
# Acquisitions written by instruments and simulated ones with known answers, where RONCHI_TEST_DATA has them.
. "$SOURCE_DIR/tests/cli/lib.sh"

if [ -z "${RONCHI_TEST_DATA:-}" ]; then
    echo "skipped: RONCHI_TEST_DATA is not set"
    exit 77
fi
data=$RONCHI_TEST_DATA

payload_sha() { # SHA-256 of an .npy's numbers: the header's length stands in its bytes 8 and 9
    header=$(od -An -tu2 -j8 -N2 "$1" | tr -d ' ')
    tail -c +$((header + 11)) "$1" | sha256sum | cut -d ' ' -f 1
}

# The simulated sets: shape without being told, every count, every sum.
for set in arina_a arina_b arina_g; do
    folder=$data/synthetic/$set
    run 0 inspect "$folder/${set}_master.h5"
    out_has '^  ready  *yes'
    run 0 convert "$folder/${set}_master.h5" $set.qem --verify
    out_has "every count of the copy equals the source's"
    run 0 verify $set.qem --against "$folder/${set}_master.h5"
    run 0 export $set.qem $set.npy
    wanted=$(sed -n 's/.*"counts_sha256": "\([0-9a-f]*\)".*/\1/p' "$folder/${set}_expected.json")
    [ "$(payload_sha $set.npy)" = "$wanted" ] || fail "$set: the exported counts have another SHA-256"
    run 0 image $set.qem --mask "$folder/${set}_bfmask.npy" -o ${set}_bf.npy
    [ "$(payload_sha ${set}_bf.npy)" = "$(payload_sha "$folder/${set}_bf.npy")" ] || fail "$set: the masked sum differs"
    run 0 mean $set.qem --reduce sum -o ${set}_total.npy
    [ "$(payload_sha ${set}_total.npy)" = "$(payload_sha "$folder/${set}_total.npy")" ] || fail "$set: the total differs"
    # straight from the original, and through an exported master
    run 0 image "$folder/${set}_master.h5" --mask "$folder/${set}_bfmask.npy" -o direct.npy --force
    cmp -s direct.npy ${set}_bf.npy || fail "$set: original and copy give different images"
    run 0 export $set.qem ${set}_master.h5
    run 0 export ${set}_master.h5 again.npy --force
    cmp -s again.npy $set.npy || fail "$set: an exported master gives other counts"
done
run 0 inspect "$data/synthetic/arina_b/arina_b_master.h5"
out_has '24 x 32 scan'
out_has '2 extra at the start of each line'
run 0 inspect "$data/synthetic/arina_g/arina_g_master.h5"
out_has '20 x 28 scan'
out_has '3 extra at the start of each line'

# A real acquisition, and one whose data file is gone.
real=$data/real/arina_rsciio_4x4/test_00_master.h5
run 0 inspect "$real"
out_has '4 x 4 scan'
out_has '300 kV'
run 0 convert "$real" real.qem --verify
run 0 inspect real.qem
out_has '300 kV'
run 1 inspect "$data/real/arina_ncempy_missing_data/au_145mm_68kx_microprobe_01_master.h5"
out_has 'au_145mm_68kx_microprobe_01_data_000001.h5'
run 1 convert "$data/real/arina_ncempy_missing_data/au_145mm_68kx_microprobe_01_master.h5" gone.qem
one_line
[ ! -e gone.qem ] || fail "a copy of an incomplete acquisition was written"

# Public .qem files: the good ones whole, the bad ones refused with the place, in one line and with exit code 1.
for good in "$data"/qem/*.npy; do
    name=$(basename "$good" .npy)
    run 0 verify "$data/qem/$name.qem"
    run 0 export "$data/qem/$name.qem" "$name.npy"
    [ "$(payload_sha "$name.npy")" = "$(payload_sha "$good")" ] || fail "$name: the counts differ"
done
for bad in "$data"/qem/bad_*.qem; do
    run 1 verify "$bad"
    one_line
done

# A folder of masters: those that can be converted are, the others are reported.
run 1 convert "$data/real" copies
out_has ' failed, '
[ -e copies/arina_rsciio_4x4/test_00.qem ] || fail "the folder's layout was not kept"
