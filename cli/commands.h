/* SPDX-License-Identifier: MIT */
/* commands.h - the commands, one a file. */
#ifndef RONCHI_CLI_COMMANDS_H
#define RONCHI_CLI_COMMANDS_H

#include "cli.h"

extern const cli_command command_inspect, command_convert, command_verify, command_frame, command_image, command_mean,
    command_com, command_dpc, command_parallax, command_rotate, command_export, command_simulate, command_bench;

#endif
