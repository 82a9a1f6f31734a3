/* NCCL's topology file, what NCCL_TOPO_DUMP_FILE writes:
 *
 *   <system version="1">
 *     <cpu numaid="0" ...>
 *       <pci busid="..." class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">   a PCIe switch
 *         <pci class="0x030200" ...><gpu dev="0" sm="90" ...>
 *             <nvlink target="..." count="4" tclass="0x068000"/></gpu></pci>
 *         <pci class="0x020700" ...><nic><net name="mlx5_0" speed="400000" .../></nic></pci>
 *
 * RCCL writes xgmi where NCCL writes nvlink. Files that clouds give to NCCL_TOPO_FILE may name no gpu and no
 * net at all; their devices are told by class. A reader of elements and attributes, which is all that it
 * uses of XML. Speeds of cards are in Mb/s.
 * Source: github.com/NVIDIA/nccl, src/graph/xml.cc and topo.h; github.com/ROCm/rccl, the same files. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 64, NAME_MAX_B = 32, VALUE_MAX_B = 128, BUS_MAX_B = 24, N_LINKS_MAX = 4096 };

/* a card of more than 10 Tb/s is a slip of units (some plugins count kb/s) */
static const double CARD_MAX_MBPS = 1e7;

/* PCI Express: payload of what is signalled, by generation. Source: PCI-SIG base specifications: 8b/10b
 * below 8 GT/s, 128b/130b from there, 242 of 256 bytes of a flit at 64 GT/s. */
static const struct {
    double from_gts, payload;
} encodings[] = {{64, 242.0 / 256}, {8, 128.0 / 130}, {0, 8.0 / 10}};

struct element {
    char name[NAME_MAX_B];
    const char *attributes, *end; /* in the text */
    bool empty;                   /* <x/> */
};

/* links of a GPU to another one, or to a switch */
struct joint {
    int gpu;
    char target[BUS_MAX_B]; /* "": a switch */
};

struct walk {
    struct reading *reading;
    bool by_class; /* no gpu is told: devices by their PCI class */
    const char *text, *at, *end;
    struct element open[DEPTH_MAX];
    int depth, n_tags;
    int n_cpus, n_switches;
    int numa[SERVER_MAX_GPUS]; /* of each GPU's cpu element, -1 = not told */
    int cpu_numa, n_numa;
    bool many_hosts; /* NUMA nodes of several servers, joined by NVLink */
    char host[VALUE_MAX_B];
    int pci_depth;   /* open pci elements */
    int pci_switch;  /* number of the outermost one */
    double slot_Bps; /* of the innermost one */
    struct server *server;
    int nic_switch[SERVER_MAX_NICS];
    char pci_bus[BUS_MAX_B]; /* of the innermost pci */
    bool pci_infiniband;
    char bus[SERVER_MAX_GPUS][BUS_MAX_B];
    struct joint joints[N_LINKS_MAX];
    int n_joints;
};

bool nccl_topo_opens(const char *text, size_t length)
{
    static const char *const wanted[] = {"<system", "<?xml", "<!--", "<graphs", "<topology"};
    size_t at = 0;
    while (at < length && strchr(" \t\r\n\xef\xbb\xbf", text[at])) at++;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t n = strlen(wanted[i]);
        if (at + n < length && !strncmp(text + at, wanted[i], n)) return true;
    }
    return false;
}

static void set_line(struct walk *walk, const char *at)
{
    int line = 1;
    for (const char *c = walk->text; c < at; c++) line += *c == '\n';
    walk->reading->line = line;
}

static void fail(struct walk *walk, const char *at, const char *what)
{
    set_line(walk, at);
    reading_error(walk->reading, "%s", what);
    walk->at = walk->end;
}

/* --- attributes ------------------------------------------------------------------------------------ */

static bool attribute(const struct element *element, const char *name, char *value)
{
    size_t length = strlen(name);
    for (const char *at = element->attributes; at + length + 2 < element->end; at++) {
        if (!isspace((unsigned char)at[-1]) || strncmp(at, name, length) != 0 ||
            at[length] != '=' || at[length + 1] != '"')
            continue;
        const char *from = at + length + 2;
        const char *to = memchr(from, '"', (size_t)(element->end - from));
        if (!to) return false;
        snprintf(value, VALUE_MAX_B, "%.*s", (int)(to - from), from);
        return true;
    }
    return false;
}

static double number_of(const struct element *element, const char *name)
{
    char text[VALUE_MAX_B];
    double value = 0;
    if (!attribute(element, name, text)) return 0;
    text[strcspn(text, " ")] = '\0';
    return reading_number(text, &value) && value > 0 && value < 1e12 ? value : 0;
}

static double slot_Bps(const struct element *pci)
{
    double gts = number_of(pci, "link_speed");
    int e = 0;
    while (encodings[e].from_gts > gts) e++;
    return gts * 1e9 / 8 * encodings[e].payload * number_of(pci, "link_width");
}

/* --- elements ---------------------------------------------------------------------------------------- */

static void open_cpu(struct walk *walk, const struct element *element)
{
    char text[VALUE_MAX_B] = "";
    walk->n_cpus++;
    walk->cpu_numa = attribute(element, "numaid", text) ? reading_count(text) : -1;
    if (walk->cpu_numa >= walk->n_numa) walk->n_numa = walk->cpu_numa + 1;
    text[0] = '\0';
    attribute(element, "host_hash", text);
    walk->many_hosts |= walk->n_cpus > 1 && strcmp(walk->host, text) != 0;
    snprintf(walk->host, sizeof walk->host, "%s", text);
}

static void open_gpu(struct walk *walk, const struct element *element)
{
    struct server *server = walk->server;
    char gcn[VALUE_MAX_B] = "";
    if (server->n_gpus == SERVER_MAX_GPUS) {
        fail(walk, element->attributes, "more than 128 GPUs");
        return;
    }
    /* AMD's have an sm too, which is no compute capability */
    double sm = attribute(element, "gcn", gcn) ? 0 : number_of(element, "sm");
    if (gcn[0]) server->link = server_xgmi(gcn);
    walk->numa[server->n_gpus] = walk->cpu_numa;
    snprintf(walk->bus[server->n_gpus], BUS_MAX_B, "%s", walk->pci_bus);
    server->gpus[server->n_gpus++] =
        (struct server_gpu){.socket = walk->n_cpus,
                            .pcie_switch = walk->pci_depth > 1 ? walk->pci_switch : -1,
                            .sm = sm < 1e4 ? (int)sm : 0};
    if (walk->slot_Bps > server->pcie_Bps) server->pcie_Bps = walk->slot_Bps;
}

static void open_net(struct walk *walk, const struct element *element)
{
    struct server *server = walk->server;
    char name[VALUE_MAX_B] = "";
    double speed = number_of(element, "speed");
    if (server->n_nics == SERVER_MAX_NICS) {
        fail(walk, element->attributes, "more than 128 network cards");
        return;
    }
    attribute(element, "name", name);
    walk->nic_switch[server->n_nics] = walk->pci_depth > 1 ? walk->pci_switch : -1;
    server->nics[server->n_nics++] =
        (struct server_nic){.name = arena_text(walk->reading->perm, "%s", name),
                            .rate_Bps = speed < CARD_MAX_MBPS ? speed * 1e6 / 8 : 0,
                            .infiniband = walk->pci_depth > 0 && walk->pci_infiniband,
                            .socket = walk->n_cpus};
}

/* an NVLink's or xGMI link's other end tells by its PCI class what it is: 0x068000 an NVSwitch, 0x068001 a
 * CPU of IBM, all else a GPU. */
static void open_link(struct walk *walk, const struct element *element)
{
    struct server *server = walk->server;
    char class[VALUE_MAX_B] = "";
    char target[VALUE_MAX_B] = "";
    if (server->n_gpus == 0) return;
    attribute(element, "tclass", class);
    if (!strncmp(class, "0x068001", 8)) return;
    struct server_gpu *gpu = &server->gpus[server->n_gpus - 1];
    double n = number_of(element, "count");
    bool to_switch = !strncmp(class, "0x0680", 6);
    server->through_switch |= to_switch;
    gpu->n_links += n <= SERVER_MAX_LINKS ? (int)n : SERVER_MAX_LINKS;
    if (gpu->n_links > SERVER_MAX_LINKS) gpu->n_links = SERVER_MAX_LINKS;
    if (walk->n_joints == N_LINKS_MAX || n < 1) return;
    struct joint *joint = &walk->joints[walk->n_joints++];
    if (!to_switch) attribute(element, "target", target);
    joint->gpu = server->n_gpus - 1;
    snprintf(joint->target, BUS_MAX_B, "%.*s", BUS_MAX_B - 1, target);
}

/* display controllers, processing accelerators and network controllers; PCI-SIG's class codes */
static void open_by_class(struct walk *walk, const struct element *element)
{
    char class[VALUE_MAX_B] = "";
    attribute(element, "class", class);
    if (!strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4)) open_gpu(walk, element);
    if (!strncmp(class, "0x02", 4)) open_net(walk, element);
}

static void enter(struct walk *walk, const struct element *element)
{
    char bus[VALUE_MAX_B] = "";
    char class[VALUE_MAX_B] = "";
    if (!strcmp(element->name, "cpu")) open_cpu(walk, element);
    if (!strcmp(element->name, "gpu")) open_gpu(walk, element);
    if (!strcmp(element->name, "net") && !walk->by_class) open_net(walk, element);
    if (!strcmp(element->name, "nvlink") || !strcmp(element->name, "xgmi"))
        open_link(walk, element);
    if (strcmp(element->name, "pci") != 0) return;
    attribute(element, "busid", bus);
    walk->pci_infiniband = attribute(element, "class", class) && !strncmp(class, "0x0207", 6);
    snprintf(walk->pci_bus, BUS_MAX_B, "%.*s", BUS_MAX_B - 1, bus);
    if (walk->pci_depth++ == 0) walk->pci_switch = walk->n_switches++;
    walk->slot_Bps = slot_Bps(element);
    if (walk->by_class) open_by_class(walk, element);
}

static void leave(struct walk *walk, const struct element *element)
{
    walk->pci_depth -= !strcmp(element->name, "pci");
}

/* --- tags -------------------------------------------------------------------------------------------- */

static void close_tag(struct walk *walk, const char *name, size_t length)
{
    const struct element *open = walk->depth > 0 ? &walk->open[walk->depth - 1] : NULL;
    if (!open || strlen(open->name) != length || strncmp(open->name, name, length) != 0) {
        fail(walk, name, "closes an element that is not open");
        return;
    }
    leave(walk, open);
    walk->depth--;
}

static void open_tag(struct walk *walk, const char *name, const char *end)
{
    struct element element = {.end = end, .empty = end[-1] == '/'};
    size_t length = strcspn(name, " \t\r\n/>");
    if (walk->depth == DEPTH_MAX || length >= sizeof element.name) {
        fail(walk, name, "elements too deep or with too long a name for a topology");
        return;
    }
    if (walk->n_tags++ == 0 && (length != 6 || strncmp(name, "system", 6) != 0)) {
        fail(walk, name,
             arena_text(walk->reading->perm,
                        "the first element is <%.*s>; what NCCL_TOPO_DUMP_FILE writes begins with "
                        "<system>",
                        length < NAME_MAX_B ? (int)length : NAME_MAX_B, name));
        return;
    }
    memcpy(element.name, name, length);
    element.attributes = name + length;
    if (element.attributes < end) element.attributes++; /* a blank stands before each */
    enter(walk, &element);
    if (element.empty)
        leave(walk, &element);
    else
        walk->open[walk->depth++] = element;
}

static void take_tag(struct walk *walk)
{
    const char *open = memchr(walk->at, '<', (size_t)(walk->end - walk->at));
    if (!open) {
        walk->at = walk->end;
        return;
    }
    if (walk->end - open >= 4 && !strncmp(open, "<!--", 4)) {
        const char *end = strstr(open + 4, "-->");
        if (!end) fail(walk, open, "a comment that does not end: cut off?");
        if (end) walk->at = end + 3;
        return;
    }
    const char *close = memchr(open, '>', (size_t)(walk->end - open));
    if (!close) {
        fail(walk, open, "a tag that does not end: cut off?");
        return;
    }
    walk->at = close + 1;
    if (open[1] == '?' || open[1] == '!') return;
    if (open[1] == '/')
        close_tag(walk, open + 2, (size_t)(close - open - 2));
    else
        open_tag(walk, open + 1, close);
}

/* links_apart — is there a GPU that no links lead to? */
static bool links_apart(const struct walk *walk)
{
    const struct server *server = walk->server;
    int group[SERVER_MAX_GPUS + 1] = {0}; /* the last: the switch */
    bool apart = false;
    for (int g = 0; g <= server->n_gpus; g++) group[g] = g;
    for (int g = 0; g < server->n_gpus; g++) {
        if (!walk->bus[g][0]) return false; /* not told who the others are */
    }
    for (int j = 0; j < walk->n_joints; j++) {
        const struct joint *joint = &walk->joints[j];
        int to = joint->target[0] ? 0 : server->n_gpus;
        while (to < server->n_gpus && strcasecmp(walk->bus[to], joint->target) != 0) to++;
        if (to < server->n_gpus || !joint->target[0])
            server_join(group, server->n_gpus + 1, joint->gpu, to);
    }
    for (int g = 0; g < server->n_gpus; g++) apart |= group[g] != group[0];
    return walk->n_joints > 0 && apart;
}

static void finish(struct walk *walk)
{
    struct server *server = walk->server;
    if (walk->depth > 0) {
        fail(walk, walk->end, "elements are still open: cut off?");
        return;
    }
    for (int c = 0; c < server->n_nics; c++) {
        for (int g = 0; g < server->n_gpus; g++)
            server->nics[c].near |=
                walk->nic_switch[c] >= 0 && walk->nic_switch[c] == server->gpus[g].pcie_switch;
    }
    for (int g = 0; g < server->n_gpus; g++) {
        if (walk->numa[g] >= 0 && !walk->many_hosts)
            server->gpus[g].socket = server_socket(walk->numa[g], walk->n_numa);
    }
    server->apart = links_apart(walk);
    server->links_untold = walk->by_class;
    if (server->n_gpus > 0) walk->reading->server = server;
}

static bool walk_all(struct reading *reading, const char *text, size_t length, bool by_class)
{
    struct walk *walk = arena_new(reading->perm, struct walk, 1);
    int n_before = reading->diag->n_messages;
    walk->reading = reading;
    walk->by_class = by_class;
    walk->cpu_numa = -1;
    walk->text = walk->at = text;
    walk->end = text + length;
    walk->server = arena_new(reading->perm, struct server, 1);
    walk->server->source = "NCCL topology file";
    while (walk->at < walk->end) take_tag(walk);
    if (reading->diag->n_messages == n_before) finish(walk);
    return reading->diag->n_messages == n_before;
}

void nccl_topo_whole(struct reading *reading, const char *text, size_t length)
{
    if (walk_all(reading, text, length, false) && !reading->server)
        walk_all(reading, text, length, true);
}
