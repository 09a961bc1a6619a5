/* SPDX-License-Identifier: MIT */
/* help.c - help for all and for one command. */
#include "cli.h"

void cli_help_all(FILE *out)
{
    fputs("ronchi opens 4D-STEM acquisitions, keeps them small and exact, and makes images from them.\n"
          "\n"
          "  ronchi inspect scan_01_master.h5                     what is there, and what to do next\n"
          "  ronchi convert scan_01_master.h5 --verify            a small copy scan_01.qem, every count checked\n"
          "  ronchi image scan_01.qem --bf -o bf.png              a bright-field image\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < cli_n_commands; i++)
        fprintf(out, "  %-10s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fputs("  version     the version\n"
          "\n"
          "ronchi COMMAND --help tells more. PATH is an original (a Dectris master, an .npy) or a .qem.\n"
          "Exit codes: 0 done; 1 the data is bad, incomplete or unknown; 2 the call is wrong, a path is not there, an\n"
          "output exists, something must be given or is not available; 3 memory, disk or device failed; 130 "
          "interrupted.\n",
          out);
}

void cli_help_command(FILE *out, const cli_command *command)
{
    fprintf(out, "ronchi %s %s\n\n%s\n", command->name, command->arguments, command->details);
    fprintf(out, "\nExample:\n  %s\n", command->example);
    cli_help_options(out, command->bit);
}
