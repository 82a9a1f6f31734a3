/* NCCL's topology file, what NCCL_TOPO_DUMP_FILE writes:
 *
 *   <system version="1">
 *     <cpu numaid="0" ...>
 *       <pci busid="..." class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">   a PCIe switch
 *         <pci class="0x030200" ...><gpu dev="0" sm="90" ...>
 *             <nvlink target="..." count="4" tclass="0x068000"/></gpu></pci>
 *         <pci class="0x020700" ...><nic><net name="mlx5_0" speed="400000" .../></nic></pci>
 *
 * A reader of elements and attributes, which is all that it uses of XML. Speeds of cards are in Mb/s.
 * Source: github.com/NVIDIA/nccl, src/graph/xml.cc and topo.h. */
#include "io/measured_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, NAME_MAX_B = 32, VALUE_MAX_B = 128 };

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

struct walk {
    struct reading *reading;
    const char *text, *at, *end;
    struct element open[DEPTH_MAX];
    int depth;
    int n_cpus, n_switches;
    int pci_depth;   /* open pci elements */
    int pci_switch;  /* number of the outermost one */
    double slot_Bps; /* of the innermost one */
    struct server *server;
    int nic_switch[SERVER_MAX_NICS];
};

bool nccl_topo_opens(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \t\r\n\xef\xbb\xbf", text[at])) at++;
    const char *wanted[] = {"<system", "<?xml"};
    for (int i = 0; i < 2; i++) {
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

static void open_gpu(struct walk *walk, const struct element *element)
{
    struct server *server = walk->server;
    if (server->n_gpus == SERVER_MAX_GPUS) {
        fail(walk, element->attributes, "more than 128 GPUs");
        return;
    }
    double sm = number_of(element, "sm");
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
    if (server->n_nics == SERVER_MAX_NICS) {
        fail(walk, element->attributes, "more than 128 network cards");
        return;
    }
    attribute(element, "name", name);
    walk->nic_switch[server->n_nics] = walk->pci_depth > 1 ? walk->pci_switch : -1;
    server->nics[server->n_nics++] =
        (struct server_nic){.name = arena_text(walk->reading->perm, "%s", name),
                            .rate_Bps = number_of(element, "speed") * 1e6 / 8,
                            .socket = walk->n_cpus};
}

static void open_nvlink(struct walk *walk, const struct element *element)
{
    struct server *server = walk->server;
    char class[VALUE_MAX_B] = "";
    if (server->n_gpus == 0) return;
    struct server_gpu *gpu = &server->gpus[server->n_gpus - 1];
    double n = number_of(element, "count");
    attribute(element, "tclass", class);
    /* PCI class of a bridge that is no PCI bridge: the NVSwitch */
    server->through_switch |= !strncmp(class, "0x0680", 6);
    gpu->n_links += n <= SERVER_MAX_LINKS ? (int)n : SERVER_MAX_LINKS;
    if (gpu->n_links > SERVER_MAX_LINKS) gpu->n_links = SERVER_MAX_LINKS;
}

static void enter(struct walk *walk, const struct element *element)
{
    if (!strcmp(element->name, "cpu")) walk->n_cpus++;
    if (!strcmp(element->name, "gpu")) open_gpu(walk, element);
    if (!strcmp(element->name, "net")) open_net(walk, element);
    if (!strcmp(element->name, "nvlink")) open_nvlink(walk, element);
    if (strcmp(element->name, "pci") != 0) return;
    if (walk->pci_depth++ == 0) walk->pci_switch = walk->n_switches++;
    walk->slot_Bps = slot_Bps(element);
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
    if (server->n_gpus > 0) walk->reading->server = server;
}

void nccl_topo_whole(struct reading *reading, const char *text, size_t length)
{
    struct walk *walk = arena_new(reading->perm, struct walk, 1);
    int n_before = reading->diag->n_messages;
    walk->reading = reading;
    walk->text = walk->at = text;
    walk->end = text + length;
    walk->server = arena_new(reading->perm, struct server, 1);
    walk->server->source = "NCCL topology file";
    while (walk->at < walk->end) take_tag(walk);
    if (reading->diag->n_messages == n_before) finish(walk);
}
