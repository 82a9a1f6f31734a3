/* The program dpsim-calib, without its main. */
#ifndef CALIB_PROGRAM_H
#define CALIB_PROGRAM_H

#include "base/arena.h"
#include "calib/backend.h"

/* as dpsim's: fine; a result was wrong; the world (no device, no disk, the device failed); usage */
enum { CALIB_FINE = 0, CALIB_WRONG = 1, CALIB_WORLD = 2, CALIB_USAGE = 64 };

/* calib_program — what a command line asks for; the exit status. backends: ends with NULL. */
int calib_program(const struct calib_backend *const *backends, int argc, char *const *argv,
                  struct arena *perm);

#endif
