/* After loading all inputs are valid, so a number that is none is our bug: it stops the program where
 * it is born. */
#ifndef BASE_TRAP_H
#define BASE_TRAP_H

/* trap_on — from now on an invalid operation, a division by zero or an overflow raises SIGFPE. Returns
 * what did before, for trap_restore. */
int trap_on(void);
void trap_restore(int before);

#endif
