#include "io/schema.h"

#include "base/json.h"
#include "io/calibration.h"
#include "io/keys.h"
#include "io/profile.h"

#include <stdbool.h>

/* The file is written as a tree of objects: each open_object is closed by a brace. */
static void open_object(FILE *out, const char *key)
{
    json_write_text(out, key);
    fputs(": {", out);
}

static void pair(FILE *out, const char *key, const char *value)
{
    json_write_text(out, key);
    fputs(": ", out);
    json_write_text(out, value);
}

/* write_required — "required": keys without a default, if there are any. */
static void write_required(FILE *out, const struct field *fields, int n_fields)
{
    bool any = false;
    for (int i = 0; i < n_fields; i++) {
        if (fields[i].fallback) continue;
        fputs(any ? ", " : ",\n\"required\": [", out);
        json_write_text(out, fields[i].key);
        any = true;
    }
    if (any) fputs("]", out);
}

static void object_body(FILE *out, const struct field *fields, int n_fields, bool open)
{
    fprintf(out, "\"type\": \"object\", \"additionalProperties\": %s", open ? "true" : "false");
    write_required(out, fields, n_fields);
    fputs(",\n\"properties\": {\n", out);
    field_schema(out, fields, n_fields);
    fputs("}", out);
}

static void write_part(FILE *out, const struct part *part)
{
    open_object(out, part->key);
    pair(out, "description", part->help);
    fputs(", ", out);
    if (part->list) {
        fputs("\"type\": \"array\", \"items\": {", out);
        object_body(out, part->fields, part->n_fields, part->open);
        fputs("}", out);
    } else if (part->text_means) {
        fputs("\"anyOf\": [{\"type\": \"string\"}, {", out);
        object_body(out, part->fields, part->n_fields, part->open);
        fputs("}]", out);
    } else {
        object_body(out, part->fields, part->n_fields, part->open);
    }
    fputs("}", out);
}

static void write_choices(FILE *out)
{
    fputs(",\n\"choices\": {\"type\": \"array\", \"items\": {\"type\": \"object\", "
          "\"additionalProperties\": false, \"required\": [\"collectives\", \"algorithm\"], "
          "\"properties\": {\n"
          "\"collectives\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
          "\"algorithm\": {\"type\": \"string\"},\n",
          out);
    field_schema(out, profile_choice_fields, n_profile_choice_fields);
    fputs("}}}", out);
}

static void write_calibration(FILE *out)
{
    fputs(",\n\"calibration\": {\"type\": \"object\", \"additionalProperties\": false, "
          "\"properties\": {\n",
          out);
    field_schema(out, calibration_fields, n_calibration_fields);
    fputs(",\n\"files\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
          "\"parts\": {\"type\": \"array\", \"items\": {\"type\": \"object\", "
          "\"additionalProperties\": false, \"properties\": {\n",
          out);
    field_schema(out, calibration_part_fields, n_calibration_part_fields);
    fputs(",\n\"series\": {\"type\": \"string\"},\n\"constants\": {\"type\": \"array\", \"items\": "
          "{\"type\": \"object\"}},\n"
          "\"covariance\": {\"type\": \"array\", \"items\": {\"type\": \"array\"}},\n"
          "\"worst\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}}}}",
          out);
}

/* A profile may be a name, or an object that names a base, so no key of it is required. */
static void write_profile(FILE *out, const struct profile_kind *kind)
{
    open_object(out, kind->name);
    pair(out, "description", kind->help);
    fputs(", \"anyOf\": [{\"type\": \"string\"}, {\"type\": \"object\", "
          "\"additionalProperties\": false, \"properties\": {\n",
          out);
    if (!kind->own_kind) {
        fputs("\"kind\": {\"const\": ", out);
        json_write_text(out, kind->name);
        fputs("},\n", out);
    }
    fputs("\"base\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"object\"}]},\n"
          "\"sources\": {\"type\": \"object\"},\n",
          out);
    field_schema(out, kind->fields, kind->n_fields);
    if (kind == &profile_kinds[PROFILE_GPU] || kind == &profile_kinds[PROFILE_NIC])
        write_calibration(out);
    if (kind == &profile_kinds[PROFILE_LIBRARY]) write_choices(out);
    fputs("}}]}", out);
}

static void write_placement(FILE *out)
{
    open_object(out, "placement");
    pair(out, "description", "Which GPU each rank runs on.");
    fputs(", \"default\": \"packed\", \"anyOf\": [{\"enum\": [", out);
    for (int i = 0; i < N_PLACEMENTS; i++) {
        if (i > 0) fputs(", ", out);
        json_write_text(out, placement_names[i]);
    }
    fputs("]}, {\"type\": \"object\", \"additionalProperties\": false, "
          "\"properties\": {\"file\": {\"type\": \"string\"}, \"ranks\": {\"type\": \"array\", "
          "\"items\": {\"type\": \"integer\", "
          "\"minimum\": 0}, \"uniqueItems\": true}}}]}",
          out);
}

void scenario_schema(FILE *out)
{
    fputs("{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
          "\"title\": \"dpsim scenario\", \"type\": \"object\", \"additionalProperties\": false,\n"
          "\"anyOf\": [{\"required\": [\"jobs\", \"gpu\", \"n_gpus\"]}, "
          "{\"required\": [\"model\", \"gpu\"",
          out);
    for (int i = 0; i < n_top_fields; i++) {
        if (top_fields[i].fallback) continue;
        fputs(", ", out);
        json_write_text(out, top_fields[i].key);
    }
    fputs("]}],\n\"properties\": {\n\"$comment\": true,\n", out);
    field_schema(out, top_fields, n_top_fields);
    for (int i = 0; i < N_KEYS_PARTS; i++) {
        fputs(",\n", out);
        write_part(out, &key_parts[i]);
    }
    for (int i = 0; i < N_PROFILE_KINDS; i++) {
        fputs(",\n", out);
        write_profile(out, &profile_kinds[i]);
    }
    fputs(",\n", out);
    write_placement(out);
    fputs("}}\n", out);
}

static void table(FILE *out, const struct field *fields, int n_fields)
{
    fputs("| key | value | default | range | meaning |\n|---|---|---|---|---|\n", out);
    field_markdown(out, fields, n_fields);
}

static void section(FILE *out, const char *key, const char *help, const char *note)
{
    fprintf(out, "\n## `%s`\n\n%s%s%s\n\n", key, help, note[0] ? " " : "", note);
}

void scenario_reference(FILE *out)
{
    fputs(
        "# Scenario files\n\n"
        "A scenario is a JSON object. Physical values are text with a unit (`\"400Gbps\"` is bits, "
        "`\"50GB/s\"` bytes, `\"25MiB\"`, `\"1.2us\"`); counts and fractions are bare numbers. "
        "Besides the keys of the first table it has the objects below; `gpu` and `model`, or "
        "`jobs`, are required. What plays no step (`dpsim collective`, `dpsim topo`) needs neither "
        "`model` nor `batch_per_gpu`.\n\n"
        "A profile (`gpu`, `node`, `nic`, `library`, `fabric`) is the name of a shipped file, a "
        "path to a "
        "`.json` file relative to the file that says so, or an object. An object with a `base` "
        "changes only the keys that it gives; the base `\"usual\"` is what the scenario has "
        "without the key. An object that lacks a required key, such as a `nic` without "
        "`bandwidth`, changes the usual one, too.\n\n"
        "`placement` is `\"packed\"` (default), `\"spread\"`, `\"random\"`, "
        "`{\"ranks\": [...]}`, the GPU of each rank, or `{\"file\": \"ranks.txt\"}`, a rank file: "
        "a "
        "line per rank, `RANK GPU` or `RANK NODE:SLOT`, `#` begins a comment.\n\n## Keys of the "
        "file\n\n",
        out);
    table(out, top_fields, n_top_fields);
    for (int i = 0; i < N_KEYS_PARTS; i++) {
        const struct part *part = &key_parts[i];
        const char *note = part->list         ? "A list of objects."
                           : part->text_means ? "A name, or an object."
                                              : "";
        section(out, part->key, part->help, note);
        table(out, part->fields, part->n_fields);
    }
    for (int i = 0; i < N_PROFILE_KINDS; i++) {
        section(out, profile_kinds[i].name, profile_kinds[i].help, "A profile.");
        table(out, profile_kinds[i].fields, profile_kinds[i].n_fields);
    }
    section(out, "gpu/calibration", "How well a GPU's numbers fit what was measured on it.",
            "Written by `dpsim fit`, of a network card too (`nic/calibration`); `files` are the "
            "raw files, `parts` a list as below.");
    table(out, calibration_fields, n_calibration_fields);
    section(out, "gpu/calibration/parts", "One part of it: kernels of a kind and type.",
            "`constants` are the numbers fitted with their standard errors, `covariance` that of "
            "their logarithms, `worst` the shapes it fits worst.");
    table(out, calibration_part_fields, n_calibration_part_fields);
    section(out, "library/choices", "A list: what the library may choose.",
            "`collectives` is a list of collectives, `algorithm` a name.");
    table(out, profile_choice_fields, n_profile_choice_fields);
}
