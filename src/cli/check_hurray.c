/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check hurray: finds the cases in files and folders and runs them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/error.h"
#include "cli/check_vectors.h"
#include "cli/hurray_case.h"
#include "cli/lines.h"

#define MAX_PATH 4096
#define MAX_FILE ((size_t)256 << 20) /* bytes of a file that a case names, unpacked */

typedef struct run {
    const tly_context *context;
    const tly_check_options *options;
    tly_check_counts *counts;
    char folder[MAX_PATH];
    json_t *rows; /* bytes by identifier, of the table that goes with the file; or NULL */
} run;

/* What tells the kinds of cases apart: the fields that they have, the most telling first. */
static const struct {
    const char *field;
    const char *kind; /* the beginning of its kind; NULL: any */
    int (*check)(tly_hurray_case *c);
} kinds[] = {
    {"spec_verdict", NULL, tly_hurray_verdict},
    {"reference_stream_verdict", NULL, tly_hurray_contents},
    {"mode", NULL, tly_hurray_refusal},
    {"message_type", NULL, tly_hurray_message},
    {"dequantized_f32", NULL, tly_hurray_quant},
    {"items", NULL, tly_hurray_stream},
    {"index", NULL, tly_hurray_file},
    {"addresses", NULL, tly_hurray_descriptor},
    {"steps", "proto_", tly_hurray_malformed},
    {"steps", NULL, tly_hurray_session},
    {"kind", "layout_negotiation", tly_hurray_decision},
    {"kind", "device_negotiation", tly_hurray_decision},
    {"kind", "shard_consistency", tly_hurray_decision},
    {"kind", "decode_table", tly_hurray_type},
    {"kind", "encode_table_informative", tly_hurray_type},
    {"kind", "packing", tly_hurray_type},
    {"kind", "known_values", tly_hurray_type},
};

static void failed(run *r, const char *what, const char *id, const char *why) {
    if (r->counts->failed++ < r->options->max_shown) {
        fprintf(r->options->out, "FAIL %s%s%s: %s\n", what, id[0] != '\0' ? " " : "", id, why);
    }
}

static int is_wanted(const run *r, const char *id, const char *kind) {
    return r->options->only == NULL || strstr(id, r->options->only) != NULL ||
           strstr(kind, r->options->only) != NULL;
}

static void run_case(run *r, const char *file, const json_t *recorded) {
    tly_hurray_case c = {
        .context = r->context, .recorded = recorded, .folder = r->folder, .rows = r->rows};
    const char *id = tly_hurray_text(recorded, "id"), *kind = tly_hurray_text(recorded, "kind");
    if (!is_wanted(r, id, kind)) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (json_object_get(recorded, kinds[i].field) != NULL &&
            (kinds[i].kind == NULL || strncmp(kind, kinds[i].kind, strlen(kinds[i].kind)) == 0)) {
            if (kinds[i].check(&c)) {
                r->counts->passed++;
            } else {
                failed(r, file, id, c.why);
            }
            return;
        }
    }
    failed(r, file, id, "this kind of case is not known");
}

uint8_t *tly_hurray_read_file(tly_hurray_case *c, const char *name, size_t *out_len) {
    char path[MAX_PATH + 300];
    size_t capacity = 65536, len = 0;
    uint8_t *bytes;
    gzFile file;
    int got = 1;
    if (name[0] == '\0' || name[0] == '/' || strstr(name, "..") != NULL) {
        tly_hurray_fail(c, "\"%.100s\" is no file below that of the cases", name);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/%.250s", c->folder, name);
    file = gzopen(path, "rb");
    if (file == NULL) {
        snprintf(path, sizeof path, "%s/%.250s.gz", c->folder, name);
        file = gzopen(path, "rb");
    }
    bytes = file != NULL ? malloc(capacity) : NULL;
    while (bytes != NULL && got > 0) {
        if (len == capacity) {
            uint8_t *grown = capacity < MAX_FILE ? realloc(bytes, capacity * 2) : NULL;
            if (grown == NULL) {
                got = -1;
                break;
            }
            bytes = grown;
            capacity *= 2;
        }
        got = gzread(file, bytes + len, (unsigned)(capacity - len));
        len += got > 0 ? (size_t)got : 0;
    }
    if (file != NULL) {
        gzclose(file);
    }
    if (bytes == NULL || got < 0) {
        free(bytes);
        tly_hurray_fail(c, "%.200s cannot be read", name);
        return NULL;
    }
    *out_len = len;
    return bytes;
}

/* ---- Kinds of files ---- */

/* Reads line by line; `each` gets a line that ends in a NUL. */
static tly_status for_lines(run *r, const char *path,
                            tly_status (*each)(run *r, const char *path, char *line, void *user,
                                               tly_error *error),
                            void *user, tly_error *error) {
    tly_lines lines;
    char *copy = NULL;
    tly_status status = tly_lines_init(&lines, path, error);
    if (status != TLY_OK) {
        return status;
    }
    for (;;) {
        const char *line;
        size_t len;
        char *grown;
        status = tly_lines_next(&lines, &line, &len, error);
        if (status != TLY_OK || line == NULL) {
            break;
        }
        grown = realloc(copy, len + 1);
        if (grown == NULL) {
            status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
            break;
        }
        copy = grown;
        memcpy(copy, line, len);
        copy[len] = '\0';
        status = len != 0 ? each(r, path, copy, user, error) : TLY_OK;
        if (status != TLY_OK) {
            break;
        }
    }
    free(copy);
    tly_lines_cleanup(&lines);
    return status;
}

static tly_status run_json_line(run *r, const char *path, char *line, void *user,
                                tly_error *error) {
    size_t len = strlen(line);
    char *quoted = malloc(2 * len + 1);
    json_error_t why;
    json_t *recorded;
    (void)user;
    if (quoted == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    recorded = json_loadb(quoted, tly_lines_quote(line, len, quoted), 0, &why);
    if (json_is_object(recorded)) {
        run_case(r, path, recorded);
    } else {
        failed(r, path, "", "a line is no JSON object");
    }
    json_decref(recorded);
    free(quoted);
    return TLY_OK;
}

/* Splits at tabs; returns the number of fields. */
static int split(char *line, char **out, int most) {
    int n = 0;
    while (line != NULL && n < most) {
        out[n++] = line;
        line = strchr(line, '\t');
        if (line != NULL) {
            *line++ = '\0';
        }
    }
    return n;
}

/* Identifier, mode, rule, bytes. */
static tly_status run_refusal_row(run *r, const char *path, char *line, void *user,
                                  tly_error *error) {
    char *f[4];
    json_t *recorded;
    (void)user, (void)error;
    if (split(line, f, 4) != 4) {
        failed(r, path, "", "a row has not four fields");
        return TLY_OK;
    }
    recorded = json_pack("{s:s,s:s,s:s,s:s}", "id", f[0], "mode", f[1], "rule", f[2], "hex", f[3]);
    run_case(r, path, recorded);
    json_decref(recorded);
    return TLY_OK;
}

/* Identifier, kind, bytes: a descriptor that must be read. */
static tly_status run_descriptor_row(run *r, const char *path, char *line, void *user,
                                     tly_error *error) {
    char *f[3];
    json_t *recorded;
    (void)user, (void)error;
    if (split(line, f, 3) != 3) {
        failed(r, path, "", "a row has not three fields");
        return TLY_OK;
    }
    recorded = json_pack("{s:s,s:s,s:s,s:[]}", "id", f[0], "kind", f[1], "hex", f[2], "addresses");
    run_case(r, path, recorded);
    json_decref(recorded);
    return TLY_OK;
}

/* Identifier, bytes: a stream that must be read. */
static tly_status run_stream_row(run *r, const char *path, char *line, void *user,
                                 tly_error *error) {
    char *f[2];
    size_t len;
    uint8_t *bytes = NULL;
    tly_error why = {0};
    const char *rule;
    (void)user, (void)error;
    if (split(line, f, 2) != 2 || (bytes = tly_hurray_unhex(f[1], &len)) == NULL) {
        failed(r, path, "", "a row has not an identifier and bytes");
        return TLY_OK;
    }
    if (is_wanted(r, f[0], "")) {
        rule = tly_hurray_judge(r->context, "stream", bytes, len, &why);
        if (rule[0] == '\0') {
            r->counts->passed++;
        } else {
            failed(r, path, f[0], why.message);
        }
    }
    free(bytes);
    return TLY_OK;
}

/* Remembers bytes by their identifiers: the last field of a row of a table, or "hex" of a case. */
static tly_status keep_row(run *r, const char *path, char *line, void *user, tly_error *error) {
    char *f[3];
    int num;
    (void)path, (void)user, (void)error;
    if (line[0] == '{') {
        char *quoted = malloc(2 * strlen(line) + 1);
        json_t *recorded =
            quoted != NULL
                ? json_loadb(quoted, tly_lines_quote(line, strlen(line), quoted), 0, NULL)
                : NULL;
        free(quoted);
        json_object_set(r->rows, tly_hurray_text(recorded, "id"), json_object_get(recorded, "hex"));
        json_decref(recorded);
        return TLY_OK;
    }
    num = split(line, f, 3);
    if (num >= 2) {
        json_object_set_new(r->rows, f[0], json_string(f[num - 1]));
    }
    return TLY_OK;
}

/* Reads the first of these files that is there, beside the file of cases, into `rows`. */
static tly_status keep_rows(run *r, const char *const *names, tly_error *error) {
    r->rows = json_object();
    for (; *names != NULL; names++) {
        char path[MAX_PATH + 64];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", r->folder, *names);
        if (stat(path, &st) == 0) {
            return for_lines(r, path, keep_row, NULL, error);
        }
    }
    return TLY_OK;
}

/* Identifier of a descriptor, index, element offset, byte, bit. */
static tly_status run_address_row(run *r, const char *path, char *line, void *user,
                                  tly_error *error) {
    char *f[5];
    json_t *recorded, *index = json_array(), *bytes;
    (void)user, (void)error;
    if (split(line, f, 5) != 5 || (bytes = json_object_get(r->rows, f[0])) == NULL) {
        json_decref(index);
        failed(r, path, "", "the descriptor of a row is in no table beside it");
        return TLY_OK;
    }
    for (char *at = f[1]; *at != '\0'; at += *at == ',') {
        char *stop;
        uint64_t k = strtoull(at, &stop, 10);
        if (stop == at) {
            break;
        }
        json_array_append_new(index, tly_hurray_u64(k));
        at = stop;
    }
    recorded = json_pack("{s:s,s:O,s:[[o,I,I,I]]}", "id", f[0], "hex", bytes, "addresses", index,
                         (json_int_t)strtoll(f[2], NULL, 10), (json_int_t)strtoll(f[3], NULL, 10),
                         (json_int_t)strtoll(f[4], NULL, 10));
    run_case(r, path, recorded);
    json_decref(recorded);
    return TLY_OK;
}

/* A container or a stream on its own must keep every rule. */
static void run_tensors(run *r, const char *path, const char *name) {
    tly_hurray_case c = {.context = r->context, .folder = r->folder};
    const char *slash = strrchr(path, '/');
    size_t len = 0;
    uint8_t *bytes = tly_hurray_read_file(&c, slash != NULL ? slash + 1 : path, &len);
    tly_error error = {0};
    const char *rule = "";
    if (!is_wanted(r, name, "")) {
        free(bytes);
        return;
    }
    if (bytes != NULL) {
        rule = tly_hurray_judge(r->context,
                                len >= 8 && memcmp(bytes, "HRRYFILE", 8) == 0 ? "file" : "stream",
                                bytes, len, &error);
    }
    if (bytes != NULL && rule[0] == '\0') {
        r->counts->passed++;
    } else {
        failed(r, path, "", bytes == NULL ? c.why : error.message);
    }
    free(bytes);
}

/* A table of codes on its own says in its name of which type it is. */
static void run_table(run *r, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    json_t *recorded = json_pack("{s:s,s:s,s:i,s:s}", "id", name, "kind", "decode_table",
                                 "type_tag", strstr(name, "bfloat16") != NULL ? TLY_BF16 : TLY_F16,
                                 "binary", slash != NULL ? slash + 1 : path);
    run_case(r, path, recorded);
    json_decref(recorded);
}

static int ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static tly_status run_file(run *r, const char *path, tly_error *error) {
    static const char *const descriptors[] = {"descriptors.tsv", "descriptors.tsv.gz",
                                              "descriptors.jsonl", "descriptors.jsonl.gz", NULL};
    static const char *const streams[] = {"streams.hex", "streams.hex.gz", NULL};
    const char *slash = strrchr(path, '/');
    char name[300];
    snprintf(name, sizeof name, "%.250s", slash != NULL ? slash + 1 : path);
    snprintf(r->folder, sizeof r->folder, "%.*s",
             slash != NULL ? (int)(slash - path < MAX_PATH - 1 ? slash - path : MAX_PATH - 1) : 1,
             slash != NULL ? path : ".");
    if (ends_with(name, ".gz")) {
        name[strlen(name) - 3] = '\0';
    }
    if (ends_with(name, ".jsonl")) {
        tly_status status =
            strcmp(name, "streams.jsonl") == 0 ? keep_rows(r, streams, error) : TLY_OK;
        return status == TLY_OK ? for_lines(r, path, run_json_line, NULL, error) : status;
    }
    if (strcmp(name, "addresses.tsv") == 0) {
        tly_status status = keep_rows(r, descriptors, error);
        return status == TLY_OK ? for_lines(r, path, run_address_row, NULL, error) : status;
    }
    if (strcmp(name, "streams.hex") == 0) {
        return for_lines(r, path, run_stream_row, NULL, error);
    }
    if (strcmp(name, "descriptors.tsv") == 0) {
        return for_lines(r, path, run_descriptor_row, NULL, error);
    }
    if (strcmp(name, "malformed.tsv") == 0) {
        return for_lines(r, path, run_refusal_row, NULL, error);
    }
    if (ends_with(name, ".hrry") || ends_with(name, ".hrrys")) {
        run_tensors(r, path, name);
    } else if (ends_with(name, "float16.u32le.bin")) {
        run_table(r, path, name);
    } else if (strcmp(name, "disputed.json") == 0) {
        fprintf(r->options->out, "%s: a list of disputed rules; it has no cases\n", path);
    } else {
        failed(r, path, "", "this is no file of cases");
    }
    return TLY_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static tly_status walk(run *r, const char *path, int depth, tly_error *error) {
    struct dirent **entries = NULL;
    struct stat st;
    int num;
    tly_status status = TLY_OK;
    if (stat(path, &st) != 0) {
        return tly_base_fail(error, errno == ENOENT ? TLY_NOT_FOUND : TLY_IO, TLY_NO_OFFSET, "",
                             "there is no file or folder %s", path);
    }
    if (!S_ISDIR(st.st_mode)) {
        status = run_file(r, path, error);
        json_decref(r->rows);
        r->rows = NULL;
        return status;
    }
    num = depth < 8 ? scandir(path, &entries, no_dots, by_name) : -1;
    if (num < 0) {
        return tly_base_fail_errno(error, errno, "cannot read the folder %s", path);
    }
    for (int i = 0; i < num; i++) {
        char inner[MAX_PATH];
        if (status == TLY_OK &&
            snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name) < MAX_PATH) {
            status = walk(r, inner, depth + 1, error);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

tly_status tly_check_hurray(const tly_context *context, const char *path,
                            const tly_check_options *options, tly_check_counts *counts,
                            tly_error *error) {
    run r = {.context = context, .options = options, .counts = counts};
    return walk(&r, path, 0, error);
}
