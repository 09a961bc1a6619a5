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
