#!/bin/sh
# A damaged attribute in the companion file: named, not used, and no crash (libhdf5 1.10 has one for whoever lists the
# attributes without having asked first whether they can be decoded).
. "$SOURCE_DIR/tests/cli/lib.sh"

run 0 simulate a_master.h5 --scan 4,3 --detector 16,16 --companion --quiet
name=$(grep -abo 'Camera Length' a.h5 | head -1 | cut -d : -f 1)
# Class and version of the attribute's type stand after its name, which is padded to 16 bytes.
printf '\001' | dd of=a.h5 bs=1 seek=$((name + 16)) conv=notrunc 2>/dev/null
run 0 inspect a_master.h5
out_has 'a.h5: damaged: its scan shape and calibration are not used'
out_has '4 x 3 scan'
run 0 convert a_master.h5 a.qem --verify
