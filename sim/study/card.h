/* A network card from lines that were fitted to messages (calibrate.h), in the terms of its profile:
 *
 *   T(S) = 2 latency + host_latency + handshake S / (S + eager) + S / (bandwidth efficiency)
 *
 * Half a round trip (ping_pong, else socket) tells the start-up: of a line alpha + beta S, alpha is what
 * an empty message takes. A second piece with a larger alpha is the handshake of messages that are too
 * large to be sent at once, `eager` the size where it begins. Messages with a window under way
 * (message_stream) tell the rate where there are any, as links are kept busy by collectives so; else the
 * last piece of the half round trip does.
 * The base's line rate and link latency stay, as `efficiency` and `host_latency` are counted from them; what
 * is faster than the base moves them. Without a base the rate that was reached is the line rate and all
 * of the start-up is the hosts'. A switch on the way is part of the start-up.
 * Sources: Hockney, The communication challenge for MPP, 1994 (the line); Rabenseifner et al., and every
 * MPI: eager and rendezvous protocols. */
#ifndef STUDY_CARD_H
#define STUDY_CARD_H

#include "io/profile.h"
#include "study/calibrate.h"

struct card {
    struct nic_profile nic;
    const struct calibrate_part *start, *rate; /* that told them; start NULL: the base's stay */
    struct calibrate_error error; /* of T over the rows of `start`, or of the line of `rate` */
};

/* card_takes — are rows of this benchmark messages between servers? */
bool card_takes(const char *benchmark);

/* card_fit — from the parts of such a fit, at least one. base: NULL = none. */
struct card card_fit(const struct calibration *fit, const struct nic_profile *base,
                     struct arena scratch);

/* card_untold — the part whose times are no law of its sizes, as bytes take no time in it or its fit failed; NULL = none. */
const struct calibrate_part *card_untold(const struct card *card);

/* card_message_s — T of a message of so many bytes. */
double card_message_s(const struct nic_profile *nic, double size_B);

#endif
