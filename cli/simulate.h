/* SPDX-License-Identifier: MIT */
/* simulate.h - the simulation that a call asks for, for the commands simulate and bench. */
#ifndef RONCHI_CLI_SIMULATE_H
#define RONCHI_CLI_SIMULATE_H

#include "cli.h"

/* cli_simulate_options() fills *out from the call; CLI_BAD_CALL, with its line printed, when it does not fit. */
int cli_simulate_options(cli *c, ronchi_simulate_options *out);

#endif
