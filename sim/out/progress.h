/* How far a long command is: a line that is wiped at the end, for a person at a terminal alone. */
#ifndef OUT_PROGRESS_H
#define OUT_PROGRESS_H

/* progress_show — before the next of n things, `done` being over; with done = n the line is wiped. One thing
 * alone shows nothing. */
void progress_show(const char *thing, int done, int n);

#endif
