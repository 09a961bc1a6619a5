#!/bin/sh
# ronchi parallax: what it writes, what it says, what it refuses, and that it keeps to its budget under a hard limit.
. "$SOURCE_DIR/tests/cli/lib.sh"

run 0 simulate a_master.h5 --scan 28,32 --detector 48,48 --dose 20 --seed 5 --c10-a -100 --companion --quiet
run 0 convert a_master.h5 a.qem --quiet
run 0 parallax a.qem --semiangle-mrad 25 -o p
out_has '^disk: centre (2[34].[0-9]*, 2[34].[0-9]*), radius 13.[0-9]* px, 5[0-9]* images of [0-9.]* counts a position$'
out_has '^shifts: bins of .* px, against the specimen as each pixel transfers it; '
out_has '^aberrations: C10 -[0-9.]* angstrom, C12 [0-9.]* angstrom at [-0-9.]* degrees; '
out_has '^rotation: [-0-9.]* +- [0-9.]* degrees, detector not transposed; '
out_has '^memory: at most .* of decoded counts and images, '
out_has '^wrote p_image.npy: 56 x 64 float32$'
for part in image.npy raw.npy density.npy shifts.npy image.png shifts.png; do
    [ -s "p_$part" ] || fail "p_$part is missing"
done
c10=$(sed -n 's/^ *"c10_a": \(-[0-9]*\).*/\1/p' p.json)
[ "$c10" -le -90 ] && [ "$c10" -ge -110 ] || fail "C10 is $c10, not about -100"
grep -q '"missing": null' p.json || fail "p.json lacks a key"

# The original, other threads, another budget: the same bytes.
run 0 parallax a_master.h5 --semiangle-mrad 25 -o o --quiet
run 0 parallax a.qem --semiangle-mrad 25 -o q --threads 1 --budget 64K --quiet
[ ! -s out ] || fail "output in spite of --quiet"
for part in image.npy raw.npy density.npy shifts.npy image.png shifts.png; do
    cmp "p_$part" "q_$part" || fail "p_$part and q_$part differ"
    cmp "p_$part" "o_$part" || fail "p_$part and o_$part differ"
done

# Nothing is replaced without being asked; by its suffix -o asks for some of it; JSON to standard output.
run 2 parallax a.qem -o p
err_has 'exists already'
run 0 parallax a.qem --upsample 1 --bins 4,2 -o only.npy --json
out_has '"bins": \['
out_has '"aberrations": null'
out_has 'semiangle-mrad'
[ -s only_image.npy ] && [ ! -e only_image.png ] && [ ! -e only.json ] || fail "-o only.npy writes arrays and nothing else"

# Several acquisitions in one call.
cp a.qem b.qem
run 0 parallax a.qem b.qem --semiangle-mrad 25 --upsample 1 -o both.npy
cmp both_a_image.npy both_b_image.npy || fail "one acquisition twice differs"
run 2 parallax a.qem ./a.qem -o twice
one_line

# Wrong calls and missing calibrations, each with one line.
run 2 parallax a.qem
err_has 'say where to'
run 2 parallax a.qem --fit yes -o r
one_line
err_has 'the aberration fit needs a calibration; not known: angle of a pixel (--semiangle-mrad or --det-step-mrad)'
run 2 parallax a.qem --bins 2,x -o r
one_line
run 2 parallax a.qem --bins 2,4 -o r
one_line
run 2 parallax a.qem --upsample 9 -o r
one_line
run 3 parallax a.qem --budget 1K -o r
one_line
err_has 'give --budget'
run 3 parallax a.qem --workspace 1K -o r
one_line
err_has 'give --workspace'
run 1 parallax a.qem --center 200,200 --radius 3 -o r
one_line
err_has 'no bright-field disk'
run 2 parallax a.qem -o nowhere/r
one_line
err_has 'nowhere/r_image.npy: its folder does not exist'
[ ! -s out ] || fail "work before a refusal"
run 2 parallax a.qem -o r.tiff
one_line
cp a.qem r_a.json # an acquisition with the name of an output
run 2 parallax a.qem r_a.json -o r --force
err_has 'r_a.json: is what this call reads'
rm r_a.json
run 0 simulate tiny_master.h5 --scan 12,12 --detector 32,32 --quiet
run 2 parallax tiny_master.h5 -o r
err_has 'at least 16 x 16'
ls r* 2>/dev/null && fail "outputs of refused calls"

# Under a hard limit of address space below the decoded counts; instrumented programs reserve more than any limit.
if nm "$RONCHI" 2>/dev/null | grep -q __asan || ! (ulimit -v 85000) 2>/dev/null; then exit 0; fi
run 0 simulate m_master.h5 --scan 40,48 --detector 160,160 --dose 3 --c10-a -150 --companion --quiet
run 0 convert m_master.h5 m.qem --quiet
run 0 parallax m.qem --semiangle-mrad 25 -o free --quiet
(
    ulimit -v 85000 # the dense counts are 96,000 kB
    "$RONCHI" parallax m.qem --semiangle-mrad 25 --budget 1M --workspace 30M --threads 2 -o narrow --quiet
) || fail "not within 85,000 kB of address space"
for part in image.npy raw.npy density.npy shifts.npy; do
    cmp "free_$part" "narrow_$part" || fail "free_$part and narrow_$part differ"
done
peak=$(sed -n 's/^ *"peak_decoded_bytes": \([0-9]*\).*/\1/p' narrow.json)
[ "$peak" -gt 0 ] && [ "$peak" -le 1048576 ] || fail "peak of decoded counts: $peak"
