/* SIGINT and SIGTERM: the first asks for an end at the next batch, so that what has been measured is
 * written; the second ends the program at once. */
#ifndef CALIB_INTERRUPT_H
#define CALIB_INTERRUPT_H

/* interrupt_catch — from now on. interrupt_forget — signals do again what they did before. */
void interrupt_catch(void);
void interrupt_forget(void);

/* interrupt_signal — the signal that came since interrupt_catch; 0: none. */
int interrupt_signal(void);

#endif
