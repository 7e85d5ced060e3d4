/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine.h"

#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <tilery/version.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* "model name : X" of /proc/cpuinfo; the machine's architecture where there is no such line. */
static void cpu_name(char *out, size_t capacity, const char *architecture) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    snprintf(out, capacity, "%s", architecture);
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            colon += 1 + strspn(colon + 1, " \t");
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(out, capacity, "%s", colon);
            break;
        }
    }
    fclose(file);
}

void tly_machine_init(tly_machine *machine, const tly_context *context) {
    struct utsname system;
    cpu_set_t set;
    memset(machine, 0, sizeof *machine);
    memset(&system, 0, sizeof system);
    uname(&system);
    cpu_name(machine->cpu, sizeof machine->cpu, system.machine);
    snprintf(machine->kernel, sizeof machine->kernel, "%s", system.release);
    machine->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    machine->compiler = COMPILER;
    machine->simd = tly_simd_name(tly_context_simd(context));
    machine->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void tly_machine_json(const tly_machine *machine, tly_json *json, const char *key) {
    tly_json_object(json, key);
    tly_json_string(json, "cpu", machine->cpu);
    tly_json_u64(json, "cores", machine->cores);
    tly_json_string(json, "kernel", machine->kernel);
    tly_json_string(json, "compiler", machine->compiler);
    tly_json_string(json, "simd", machine->simd);
    tly_json_u64(json, "memory", machine->memory);
    tly_json_string(json, "version", tly_version());
    tly_json_end_object(json);
}
