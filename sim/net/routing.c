#include "net/routing.h"

#include <stddef.h>
#include <string.h>

const struct routing routings[] = {
    {
        .name = "static",
        .mode = ROUTING_STATIC,
        .summary = "one way, chosen by destination: d-mod-k in fat-trees, shortest elsewhere",
        .source = "Zahavi, D-Mod-K routing, CCIT report 776, Technion, 2010",
    },
    {
        .name = "ecmp",
        .mode = ROUTING_ECMP,
        .hashed = true,
        .summary = "one of the shortest ways for each queue pair, drawn by a seeded hash",
        .source = "Hopps, Analysis of an equal-cost multi-path algorithm, RFC 2992, 2000",
    },
    {
        .name = "minimal",
        .mode = ROUTING_STATIC,
        .summary = "the same as static: all those ways are shortest",
        .source = "Kim, Dally, Scott & Abts, ISCA 2008, sec. 4",
    },
    {
        .name = "spray",
        .mode = ROUTING_SPRAY,
        .summary = "packets spread evenly over the shortest ways, hop by hop",
        .source = "Dixit, Prakash, Hu & Kompella, On the impact of packet spraying in data center "
                  "networks, INFOCOM 2013",
    },
    {
        .name = "valiant",
        .mode = ROUTING_VALIANT,
        .hashed = true,
        .detours = true,
        .summary = "by way of a group (grids: a switch) drawn by hash for each queue pair",
        .source = "Valiant, A scheme for fast parallel communication, SIAM J. Comput. 11(2), 1982; "
                  "by groups: Kim et al., ISCA 2008, sec. 4",
    },
    {
        .name = "valiant-spray",
        .mode = ROUTING_VALIANT_SPRAY,
        .detours = true,
        .summary = "the mean of valiant: packets spread evenly over all detours",
        .source = "Valiant, A scheme for fast parallel communication, SIAM J. Comput. 11(2), 1982",
    },
    {
        .name = "ugal",
        .mode = ROUTING_UGAL,
        .detours = true,
        .summary =
            "packets take a detour where its fullest link is less full than the shortest ways'",
        .source = "Singh, Load-balanced routing in interconnection networks, Stanford, 2005; Kim, "
                  "Dally, Scott & Abts, ISCA 2008, sec. 4 (UGAL-G)",
    },
};
const int n_routings = sizeof routings / sizeof routings[0];

const char *const routing_names[] = {"static",  "ecmp",          "minimal", "spray",
                                     "valiant", "valiant-spray", "ugal",    NULL};

const struct routing *routing_find(const char *name)
{
    for (int i = 0; i < n_routings; i++) {
        if (strcmp(routings[i].name, name) == 0) return &routings[i];
    }
    return NULL;
}
