#!/bin/sh
# Ctrl-C and SIGTERM: exit code 130, one line, nothing half written.
. "$SOURCE_DIR/tests/cli/lib.sh"

run 0 simulate a_master.h5 --scan 64,64 --detector 128,128 --dose 2 --quiet

left_over() {
    find . -name '*.qem*' -o -name '*.tmp'
}

for signal in INT TERM; do
    # How long the work takes is not known here: earlier and earlier, until the signal comes before its end.
    code=0
    for wait in 0.4 0.2 0.1 0.05; do
        # A shell that runs things in the background makes them ignore SIGINT; env gives the default back.
        env --default-signal=INT "$RONCHI" convert a_master.h5 a.qem --verify --threads 1 >out 2>err &
        pid=$!
        sleep $wait
        kill -s $signal $pid 2>/dev/null || true
        code=0
        wait $pid || code=$?
        [ $code -eq 0 ] || break
        rm a.qem
    done
    [ $code -eq 130 ] || fail "exit code $code after SIG$signal"
    one_line
    err_has 'interrupted'
    if [ -e a.qem ]; then # the signal came while the finished copy was being compared: it is whole
        run 0 verify a.qem --quiet
        rm a.qem
    fi
    [ -z "$(left_over)" ] || fail "something is left: $(left_over)"
done
