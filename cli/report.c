/* SPDX-License-Identifier: MIT */
/* report.c - what the command says besides its results: errors, progress, and that it was interrupted. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_exit_code(ronchi_status status)
{
    switch (status) {
    case RONCHI_OK:
        return CLI_DONE;
    case RONCHI_ERR_DATA:
    case RONCHI_ERR_INCOMPLETE:
    case RONCHI_ERR_FORMAT:
        return CLI_BAD_DATA;
    case RONCHI_ERR_ARGUMENT:
    case RONCHI_ERR_SHAPE:
    case RONCHI_ERR_RANGE:
    case RONCHI_ERR_NOT_FOUND:
    case RONCHI_ERR_EXISTS:
    case RONCHI_ERR_NEEDED:
    case RONCHI_ERR_CLOSED:
    case RONCHI_ERR_UNSUPPORTED:
        return CLI_BAD_CALL;
    case RONCHI_ERR_CANCELLED:
        return CLI_INTERRUPTED;
    case RONCHI_ERR_MEMORY:
    case RONCHI_ERR_IO:
    case RONCHI_ERR_DEVICE:
    case RONCHI_ERR_INTERNAL:
        break;
    }
    return CLI_FAILED;
}

int cli_error(const ronchi_error *err)
{
    cli_progress_clear();
    if (err->status == RONCHI_ERR_CANCELLED) {
        fputs("ronchi: interrupted: nothing was left half written\n", stderr);
        return CLI_INTERRUPTED;
    }
    fputs("ronchi: ", stderr);
    cli_put_safe(stderr, err->file);
    fputs(err->file[0] ? ": " : "", stderr);
    cli_put_safe(stderr, err->message[0] ? err->message : ronchi_status_name(err->status));
    if (err->offset != UINT64_MAX)
        fprintf(stderr, " (byte %llu)", (unsigned long long)err->offset);
    fputc('\n', stderr);
    return cli_exit_code(err->status);
}

int cli_fail(int code, const char *file, const char *format, ...)
{
    va_list args;
    cli_progress_clear();
    fputs("ronchi: ", stderr);
    cli_put_safe(stderr, file ? file : "");
    fputs(file ? ": " : "", stderr);
    va_start(args, format);
    cli_print_args(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

/* ------------------------------------------------------------------------------------------------ interruption */

/* The one mutable thing that is not passed along: a signal handler has no other way to be heard. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void cli_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* whoever asks twice does not want to wait */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_flags = 0;
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

/* --------------------------------------------------------------------------------------------------- progress */

/* What is on the terminal's last line; one process has one terminal. */
static struct {
    bool shown;
    char stage[32];
    double begin, last;
} line;

void cli_progress_clear(void)
{
    if (line.shown)
        fputs("\r\033[K", stderr);
    line.shown = false;
}

static void print_time(char text[32], double seconds)
{
    unsigned long s = seconds < 1e7 ? (unsigned long)(seconds + 0.5) : 9999999;
    if (s >= 3600)
        snprintf(text, 32, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%lu:%02lu", s / 60, s % 60);
}

static void show(const ronchi_progress *p, double now)
{
    char rate[32] = "", rest[48] = "", percent[16] = "";
    double elapsed = now - line.begin;
    uint64_t per_unit = p->bytes_per_unit;
    if (!per_unit && p->unit && strcmp(p->unit, "bytes") == 0)
        per_unit = 1;
    if (elapsed > 0.2 && per_unit && p->done)
        snprintf(rate, sizeof rate, "  %.0f MB/s", (double)p->done * (double)per_unit / elapsed / 1e6);
    if (p->total) {
        snprintf(percent, sizeof percent, "  %3.0f %%", 100.0 * (double)p->done / (double)p->total);
        if (elapsed > 1 && p->done && p->done < p->total) {
            char text[32];
            print_time(text, elapsed * (double)(p->total - p->done) / (double)p->done);
            snprintf(rest, sizeof rest, "  %s left", text);
        }
    }
    fprintf(stderr, "\r%s%s%s%s\033[K", line.stage, percent, rate, rest);
    fflush(stderr);
    line.shown = true;
}

int cli_progress(void *user, const ronchi_progress *p)
{
    enum { UPDATES_PER_SECOND = 8 };
    if (interrupted)
        return 1;
    if (!user)
        return 0;
    double now = cli_now();
    const char *stage = p->stage ? p->stage : "work";
    if (strcmp(stage, line.stage) != 0) {
        snprintf(line.stage, sizeof line.stage, "%s", stage);
        line.begin = now;
    }
    if (now - line.last >= 1.0 / UPDATES_PER_SECOND) {
        line.last = now;
        show(p, now);
    }
    return 0;
}

int cli_finish_output(int code)
{
    cli_progress_clear();
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        code = cli_fail(CLI_FAILED, NULL, "standard output cannot be written: %s", strerror(errno));
#if !defined(__SANITIZE_ADDRESS__)
    /* After a damaged file libhdf5 1.10 says "infinite loop closing library" at exit, which would be a second message.
     */
    if (code != CLI_DONE && !freopen("/dev/null", "w", stderr))
        return code;
#endif
    return code;
}
