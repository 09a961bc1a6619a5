#!/bin/sh
# A damaged attribute in the companion file: named, not used, and no crash (libhdf5 1.10 has one for whoever lists the
# attributes without having asked first whether they can be decoded).
. "$SOURCE_DIR/tests/cli/lib.sh"

run 0 simulate a_master.h5 --scan 4,3 --detector 16,16 --companion --quiet
name=$(grep -abo 'Camera Length' a.h5 | head -1 | cut -d : -f 1)
# The name ends without its 0 byte, so that its length contradicts it.
printf '\020' | dd of=a.h5 bs=1 seek=$((name + 13)) conv=notrunc 2>/dev/null
run 1 inspect a_master.h5
out_has 'a.h5: damaged: its scan shape and calibration are not used'
out_has 'give --scan-shape'
run 0 convert a_master.h5 a.qem --scan-shape 4,3 --verify

# A data file whose object headers are damaged: one line, and nothing of what libhdf5 1.10 says at exit after it.
run 0 simulate b_master.h5 --scan 4,3 --detector 16,16 --quiet
run 0 inspect b_master.h5
for at in $(grep -abo 'OHDR\|TREE\|SNOD\|HEAP' b_data_000001.h5 | cut -d : -f 1 | head -12); do
    cp b_data_000001.h5 whole.h5
    printf '\377\377' | dd of=b_data_000001.h5 bs=1 seek=$((at + 8)) conv=notrunc 2>/dev/null
    code=0
    "$RONCHI" mean b_master.h5 --scan-shape 4,3 --force -o mean.npy >out 2>err || code=$?
    [ "$code" -eq 0 ] || one_line
    mv whole.h5 b_data_000001.h5
done
