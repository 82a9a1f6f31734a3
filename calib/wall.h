/* Clocks of the host. */
#ifndef CALIB_WALL_H
#define CALIB_WALL_H

/* wall_s — seconds since some moment; never goes back. */
double wall_s(void);

/* wall_thread_s — processor time of this thread: what others took of the processor is no part of it. */
double wall_thread_s(void);

/* wall_tick_s — the smallest step that a clock was seen to make. */
double wall_tick_s(double (*clock_s)(void));

#endif
