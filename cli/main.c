/* SPDX-License-Identifier: MIT */
/* main.c - finds the command, parses its options, runs it. */
#include <string.h>

#include "commands.h"

const cli_command *const cli_commands[] = {
    &command_inspect, &command_convert,  &command_verify, &command_frame,    &command_image,
    &command_mean,    &command_com,      &command_dpc,    &command_parallax, &command_rotate,
    &command_export,  &command_simulate, &command_bench,
};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];

static const cli_command *find(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[32] = {"help", "version"};
    size_t n = 2;
    for (size_t i = 0; i < cli_n_commands; i++)
        names[n++] = cli_commands[i]->name;
    const char *nearest = cli_nearest(name, names, n);
    if (nearest)
        return cli_fail(CLI_BAD_CALL, NULL, "unknown command %s (did you mean %s?); see ronchi --help", name, nearest);
    return cli_fail(CLI_BAD_CALL, NULL, "unknown command %s; see ronchi --help", name);
}

static int help(const char *name)
{
    const cli_command *command = name ? find(name) : NULL;
    if (name && !command)
        return unknown_command(name);
    if (command)
        cli_help_command(stdout, command);
    else
        cli_help_all(stdout);
    return CLI_DONE;
}

static int run(const cli_command *command, int n, char **words)
{
    cli c;
    int code = cli_parse(&c, command, n, words);
    if (code == CLI_DONE && c.help) {
        cli_help_command(stdout, command);
        return CLI_DONE;
    }
    if (code == CLI_DONE)
        code = cli_start(&c);
    if (code == CLI_DONE)
        code = command->run(&c);
    ronchi_context_destroy(c.context);
    return code;
}

int main(int argc, char **argv)
{
    cli_catch_signals();
    if (argc < 2) {
        cli_help_all(stderr);
        return CLI_BAD_CALL;
    }
    const char *word = argv[1];
    const cli_command *command = find(word);
    int code = CLI_DONE;
    if (command)
        code = run(command, argc - 2, argv + 2);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        code = help(argc > 2 ? argv[2] : NULL);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0)
        printf("ronchi %s\n", ronchi_version());
    else
        code = unknown_command(word);
    return cli_finish_output(code);
}
