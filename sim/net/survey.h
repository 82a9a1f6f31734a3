/* What a person wants to know of a network besides its summary: how capacity shrinks from level to level, how
 * many ways lead from one end to the other, how many cables there are of which kind. */
#ifndef NET_SURVEY_H
#define NET_SURVEY_H

#include "net/topo.h"

/* all links of one stage of switches: down to cards and lower stages, up to higher ones */
struct survey_level {
    double down_Bps, up_Bps;
    double global_Bps; /* out to other groups or sites */
};

struct survey {
    struct survey_level levels[N_STAGES];
    /* between the switches of card 0 of the first and of the last node; 0 when that is one switch */
    int disjoint_ways;    /* that share no link, of any length; -1 in networks too large to try */
    double shortest_ways; /* with as few links as can be; parallel cables count each */
    int shortest_links;
    int n_cables[N_TIERS];
};

/* survey_network — cost O(links) times the disjoint ways, of which there are no more than cables at a switch. */
struct survey survey_network(const struct topo *topo, struct arena scratch);

#endif
