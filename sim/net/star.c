/* One switch, never full inside: every port has a cable up and down and nothing else is shared.
 *
 *   port0   port1   port2   port3
 *      \      |       |      /
 *       +----- switch ------+
 */
#include "net/fabric.h"

#include <stdio.h>

void star_check(struct fabric_spec *spec, int n_ports, struct diag *diag, struct diag_place place)
{
    (void)spec; /* nothing to choose: any number of ports fits */
    (void)n_ports;
    (void)diag;
    (void)place;
}

struct fabric_size star_size(const struct fabric_spec *spec, int n_ports)
{
    (void)spec;
    return (struct fabric_size){.n_switches = 1, .n_cables = n_ports};
}

void star_build(struct topo *topo, const int *port_vertex, int n_ports, struct arena *perm)
{
    int hub = fabric_add_switches(topo, 1, 0, perm);
    for (int p = 0; p < n_ports; p++) fabric_add_port(topo, port_vertex[p], hub, perm);
}

int star_route(const struct topo *topo, int src, int dst, uint64_t key, int *links)
{
    (void)key;
    links[0] = fabric_port_up(topo, src);
    links[1] = fabric_port_down(topo, dst);
    return 2;
}

double star_bisection_Bps(const struct topo *topo)
{
    return fabric_ports_bisection_Bps(topo);
}

void star_switch_name(const struct topo *topo, struct vertex vertex, char *text, int size)
{
    (void)topo;
    (void)vertex;
    snprintf(text, (size_t)size, "switch");
}
