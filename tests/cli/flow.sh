#!/bin/sh
# From a simulated original to images: the exact output of every command.
. "$SOURCE_DIR/tests/cli/lib.sh"

# Sizes of compressed files, ratios of them and times may change with every improvement: they become SIZE, X and T.
tidy() {
    sed -e 's/[0-9.]* [kM]\{0,1\}B\([ ,:]\|$\)/SIZE\1/g' -e 's/: [0-9.]* times smaller/: X times smaller/' \
        -e 's/, [0-9.]* of the source/, X of the source/' -e 's|[0-9.]* s, [0-9]* MB/s|T|' out >tidied
    mv tidied out
}

run 0 simulate a_master.h5 --scan 12,10 --detector 32,32 --dose 6 --seed 3 --scan-step-a 0.5 --flagged-pixels 1 \
    --frames-per-file 50 --companion --truth
out_is <<E
wrote a_master.h5: 12 x 10 scan, 32 x 32 detector, uint16
E
run 2 simulate a_master.h5
err_is <<E
ronchi: a_master.h5: exists already: give --force to replace it, or another name
E

run 0 inspect a_master.h5
tidy
out_is <<E
a_master.h5
  format       dectris-master, external, bslz4
  detector     Dectris ARINA (simulated)
  shape        12 x 10 scan, 32 x 32 detector (rows x columns), uint16
  frames       120 stored, 120 expected
  evidence     * companion a.h5     12 rows x 10 columns
                 ntrigger, nimages  ntrigger 120, nimages 1: the stored count
  mask         1 flagged pixel
  calibration  voltage                 300 kV          source_metadata: entry/instrument/detector/detectorSpecific/photon_energy
               scan step               0.5 angstrom    source_metadata: a.h5 Pixel Size
               camera length           36.6667 mm      source_metadata: a.h5 Camera Length
               dwell time              100 us          source_metadata: entry/instrument/detector/count_time
               scan rotation           0 degree        source_metadata: a.h5 Rotation
  files        5, all there
               a_master.h5  SIZE
               a_data_000001.h5  SIZE  50 frames
               a_data_000002.h5  SIZE  50 frames
               a_data_000003.h5  SIZE  20 frames
               a.h5  SIZE
  size         SIZE stored, SIZE as a dense array
  ready        yes
  next         ronchi convert a_master.h5 --verify
E

run 0 convert a_master.h5 --verify
tidy
out_is <<E
a_master.h5 -> a.qem
  counts    12 x 10 scan, 32 x 32 detector, uint16, SIZE as a dense array
  source    SIZE
  copy      SIZE, lane-rans-v1: X times smaller than dense, X of the source
  exact     yes: encoded exactly from the source's counts
  verified  every count of the copy equals the source's
  memory    SIZE of decoded counts at most, of a budget of SIZE
  time      T of dense counts
E
run 0 verify a.qem --against a_master.h5
out_is <<E
a.qem: whole: 12 x 10 scan, 32 x 32 detector, uint16, lane-rans-v1
checked: digests, layout, every stream and every index sum
compared: every count equals a_master.h5
not kept by the copy:
  how the source was stored: names and cut of its files, chunks, compression, links, unused space
  entries of the source that no reader retained (ronchi inspect --json lists what is kept)
E

run 0 image a.qem --bf --adf 11,15 --df 11 -o bf.npy -o adf.npy -o df.npy
out_is <<E
disk: centre (16.03, 15.98), radius 8.88 px, fitted to 248 pixels of the mean pattern
bf: up to 8.88 px, 241 pixels
adf: 11.00 to 15.00 px, 328 pixels
df: 11.00 px and further, 649 pixels
wrote bf.npy: 12 x 10 uint64
wrote adf.npy: 12 x 10 uint64
wrote df.npy: 12 x 10 uint64
E
run 0 image a_master.h5 --bf -o direct.npy
cmp -s direct.npy bf.npy || fail "original and copy give different images"
run 0 image a.qem --bf --threads 1 --budget 1M -o one.npy
cmp -s one.npy bf.npy || fail "the image depends on threads or budget"

# the sum index of lane-rans-v1: on request, checked, never a different result
run 0 convert a_master.h5 lane.qem --profile lane
run 0 convert lane.qem indexed.qem --index --verify
[ "$(wc -c <indexed.qem)" -gt "$(wc -c <lane.qem)" ] || fail "no index was stored"
run 0 verify indexed.qem --against a_master.h5
run 0 image indexed.qem --bf --adf 11,15 -o indexed_bf.npy -o indexed_adf.npy
cmp -s indexed_bf.npy bf.npy || fail "the index changes the bright-field image"
cmp -s indexed_adf.npy adf.npy || fail "the index changes the dark-field image"
run 0 convert indexed.qem again.qem
cmp -s again.qem lane.qem || fail "an index leaves traces in a file without one"
run 0 image a.qem --bf --center 16.5,15 --radius 4 -o centred.npy
out_is <<E
bf: up to 4.00 px, 48 pixels
wrote centred.npy: 12 x 10 uint64
E
run 2 image a.qem --adf 10,20 --unit mrad -o mrad.npy
one_line
err_has 'semiangle-mrad'
run 0 image a.qem --bf --unit mrad --radius 20 --semiangle-mrad 25 -o mrad.npy
out_has '^bf: up to 7.11 px, 161 pixels$'

run 0 mean a.qem --region 0:4,: -o mean.npy
out_is <<E
wrote mean.npy: 32 x 32 float64
E
run 2 mean a.qem --region 0:14,: -o beyond.npy
err_is <<E
ronchi: a.qem: --region leaves the scan of 12 rows x 10 columns
E
run 0 com a.qem -o com.npy
out_is <<E
centre of mass: mean (16.003, 15.984) px
empty positions: 0 of 120
wrote com_row.npy: 12 x 10 float64
wrote com_col.npy: 12 x 10 float64
E
run 0 frame a.qem 11 9 -o frame.npy
out_is <<E
wrote frame.npy: 32 x 32 uint16
E
run 2 frame a.qem 12 9 -o beyond.npy
err_is <<E
ronchi: a.qem: no scan position (12, 9): the scan has 12 rows x 10 columns
E
run 2 image a.qem --mask frame.npy -o beyond.npy
one_line
err_has 'a mask holds zeros and ones'
run 2 image a.qem --mask bf.npy -o beyond.npy
err_is <<E
ronchi: bf.npy: 12 x 10, but a mask of 32 x 32 is needed
E
[ ! -e beyond.npy ] || fail "an output of a refused call"

# Pictures and TIFF are what their names say.
run 0 mean a.qem -o mean.png -o mean.tiff
run 0 com a.qem -o com.png
for picture in mean com_row com_col; do
    [ "$(head -c 4 $picture.png | tail -c 3)" = PNG ] || fail "$picture.png is no PNG"
done
case "$(head -c 2 mean.tiff)" in II | MM) ;; *) fail "mean.tiff is no TIFF" ;; esac

# Counts come back: as an array with the SHA-256 that the simulation noted, and as a master.
run 0 export a.qem a.npy
out_is <<E
wrote a.npy: 12 x 10 scan, 32 x 32 detector, uint16
E
wanted=$(sed -n 's/.*"sha256": "\([0-9a-f]*\)".*/\1/p' a_truth.json)
header=$(od -An -tu2 -j8 -N2 a.npy | tr -d ' ')
[ "$(tail -c +$((header + 11)) a.npy | sha256sum | cut -d ' ' -f 1)" = "$wanted" ] || fail "exported counts differ from the truth"
run 0 export a.qem b_master.h5
run 0 export b_master.h5 b.npy
cmp -s a.npy b.npy || fail "an exported master holds other counts"
run 0 convert a.npy from_array.qem --verify
run 0 verify from_array.qem --against a_master.h5

# Part by part or at once: the same file.
run 0 simulate parts_master.h5 --scan 24,20 --detector 64,64 --quiet
run 0 convert parts_master.h5 parts.qem --profile lane --quiet
run 0 rotate parts.qem --angle 33 --output same -o parts_1.qem --budget 4M --quiet
run 0 rotate parts.qem --angle 33 --output same -o parts_2.qem --quiet
cmp parts_1.qem parts_2.qem || fail "the budget changed a rotated copy"
run 0 verify parts_1.qem --quiet

# DPC: numbers, pictures, parameters; the answer of the simulation's rotation 0 when it is given.
run 0 dpc a.qem --rotation-deg 0 --semiangle-mrad 25 -o dpc.npy -o dpc.png
out_has 'rotation: 0.000 degrees, given, detector not transposed'
out_has 'units: phase in rad'
out_has 'wrote dpc_idpc.npy: 12 x 10 float64'
for part in idpc ddpc row col curl; do
    [ -s dpc_$part.npy ] && [ "$(head -c 4 dpc_$part.png | tail -c 3)" = PNG ] || fail "dpc_$part is missing"
done
[ -s dpc_field.png ] || fail "dpc_field.png is missing"
run 0 dpc a.qem --rotation-deg 0 --json
out_has '"transpose": false'
run 2 dpc a.qem
run 2 dpc a.qem --branch positive --near-deg 3 -o other.npy
err_is <<E
ronchi: --branch or --near-deg, not both
E

# Turned four times by a right angle a scan is itself again; off the grid counts stay counts.
run 0 rotate a.qem --angle 90 -o quarter.qem
tidy
out_is <<E
turned by 90 degrees: 12 x 10 -> 10 x 12 scan, 120 of 120 positions inside
wrote quarter.qem: 10 x 12 scan, 32 x 32 detector, uint16, SIZE
E
run 0 rotate quarter.qem --angle 270 -o back.qem
run 0 export back.qem back.npy
cmp -s a.npy back.npy || fail "a scan turned there and back holds other counts"
run 0 rotate a.qem --angle 30 --output same --fill 7 -o turned.qem
out_has '12 x 10 -> 12 x 10 scan'
run 0 verify turned.qem
run 0 inspect turned.qem
out_has 'scan step  *0.5 angstrom'
run 2 rotate a.qem -o none.qem
err_is <<E
ronchi: say by how much: --angle DEGREES; see ronchi rotate --help
E
run 2 rotate a.qem --angle 30 -o none.npy
run 2 rotate a.qem --angle 30 --fill 65536 -o none.qem
err_has 'no value of uint16 to fill with'
[ ! -e none.qem ] && [ ! -e none.npy ] || fail "an output of a refused call"

# --quiet says nothing when all is well.
run 0 convert a_master.h5 quiet.qem --quiet
[ ! -s out ] && [ ! -s err ] || fail "--quiet says something"
cmp -s quiet.qem a.qem || fail "two copies of one original differ"
