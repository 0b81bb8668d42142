/* host.c: runs kernels on this machine, under sanitizers. In: a file with the linear memory from MEMORY on; calls on
 * stdin, each with the operands that it may touch. Out: results on stdout, or the sanitizer's report on stderr and an
 * exit.
 *
 *   call     struct call | f64 [arguments] | struct region [regions]
 *   answer   f64 result
 *
 * Addresses of linear memory are addresses of this process: the file is mapped to [MEMORY, MEMORY + MEMORY_BYTES). All
 * of it is poisoned except the regions of the call. The program and the stack of the kernels are below 4 GiB too, since
 * kernels store addresses of both in records of 32-bit words. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/kernel.h"
#include "core/sync.h"

#define MEMORY ((uint8_t *)0x100000)
#define STACK ((uint8_t *)0x50000000)
enum { MEMORY_BYTES = 0x30000000, STACK_BYTES = 1 << 24, MAX_ARGUMENTS = 8 };

/* form: the form of the dots, enum dot_form. */
struct call { char name[32]; uint32_t form, arguments, regions, none; };
struct region { uint32_t at, bytes; };

uint32_t run(struct sync *, const uint8_t *, const struct step *, uint32_t, uint32_t, uint32_t, uint32_t);
uint32_t abi_version(void);
void poison(struct sync *);
void reference(const void *, const struct step *);
void choose(uint32_t);
uint32_t in_use(void);
void exponential(float *, float *, const float *, uint32_t);
void step_size(float *, float *, const float *, uint32_t);
void power_of_two(float *, float *, const float *, uint32_t);
void make_claimer(struct claimer *, uint32_t, uint32_t);
uint32_t claim(struct sync *, struct claimer *, uint32_t);
uint32_t adler(uint32_t, const uint8_t *, uint32_t);
uint32_t logits_top(const float *, uint32_t, uint32_t, float, float *, uint32_t *, uint32_t);
uint32_t logits_top_reference(const float *, uint32_t, uint32_t, float, float *, uint32_t *);
#define OF_ROWS(name)                                                       \
    void logits_guide##name(float *, const float *, uint32_t, float);       \
    void logits_mask##name(float *, const uint32_t *, uint32_t);                       \
    double logits_sum_exp##name(const float *, uint32_t, float, float, float); \
    void logits_spread##name(const float *, uint32_t, double *);            \
    double logits_weigh##name(const float *, uint32_t, float, float *);
OF_ROWS() OF_ROWS(_reference)

static void fail(const char *what) {
    fprintf(stderr, "host: %s\n", what);
    exit(2);
}

/* Calls by name. Arguments are JavaScript numbers. */
#define WORD(i) ((uint32_t)(int64_t)arguments[i])
#define FLOAT(i) ((float)arguments[i])
#define TO(type, i) AT(type *, WORD(i))
#define IS(text) (strcmp(name, text) == 0)
static double call(const char *name, const double *arguments) {
    if (IS("run")) {
        return run(TO(struct sync, 0), TO(const uint8_t, 1), TO(const struct step, 2), WORD(3), WORD(4), WORD(5), WORD(6));
    }
    if (IS("reference")) return reference(TO(const void, 0), TO(const struct step, 1)), 0;
    if (IS("choose_dots")) return choose(WORD(0)), 0;
    if (IS("dots_in_use")) return in_use();
    if (IS("abi_version")) return abi_version();
    if (IS("poison")) return poison(TO(struct sync, 0)), 0;
    if (IS("make_claimer")) return make_claimer(TO(struct claimer, 0), WORD(1), WORD(2)), 0;
    if (IS("claim")) return claim(TO(struct sync, 0), TO(struct claimer, 1), WORD(2));
    if (IS("adler")) return adler(WORD(0), TO(const uint8_t, 1), WORD(2));
#define OF_NUMBERS(function) \
    if (IS(#function)) return function(TO(float, 0), TO(float, 1), TO(const float, 2), WORD(3)), 0;
    OF_NUMBERS(exponential) OF_NUMBERS(step_size) OF_NUMBERS(power_of_two)
    if (IS("logits_top")) {
        return logits_top(TO(const float, 0), WORD(1), WORD(2), FLOAT(3), TO(float, 4), TO(uint32_t, 5), WORD(6));
    }
    if (IS("logits_top_reference")) {
        return logits_top_reference(TO(const float, 0), WORD(1), WORD(2), FLOAT(3), TO(float, 4), TO(uint32_t, 5));
    }
#define CALLS_OF_ROWS(end)                                                                                               \
    if (IS("logits_guide" #end)) return logits_guide##end(TO(float, 0), TO(const float, 1), WORD(2), FLOAT(3)), 0;       \
    if (IS("logits_mask" #end)) return logits_mask##end(TO(float, 0), TO(const uint32_t, 1), WORD(2)), 0;                \
    if (IS("logits_sum_exp" #end)) return logits_sum_exp##end(TO(const float, 0), WORD(1), FLOAT(2), FLOAT(3), FLOAT(4)); \
    if (IS("logits_spread" #end)) return logits_spread##end(TO(const float, 0), WORD(1), TO(double, 2)), 0;              \
    if (IS("logits_weigh" #end)) return logits_weigh##end(TO(const float, 0), WORD(1), FLOAT(2), TO(float, 3));
    CALLS_OF_ROWS() CALLS_OF_ROWS(_reference)
    return fail(name), 0;
}

/* Returns 0 when the other end has closed. */
static int receive(void *to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = read(0, (uint8_t *)to + done, bytes - done);
        if (count <= 0) return 0;
        done += (size_t)count;
    }
    return 1;
}
static void answer(const void *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = write(1, (const uint8_t *)from + done, bytes - done);
        if (count <= 0) exit(0);
        done += (size_t)count;
    }
}

static void *serve_calls(void *none) {
    struct call header;
    double arguments[MAX_ARGUMENTS];
    while (receive(&header, sizeof header)) {
        struct region *regions = malloc((header.regions + 1) * sizeof *regions);
        if (header.arguments > MAX_ARGUMENTS) fail("too many arguments");
        if (!receive(arguments, header.arguments * sizeof *arguments)) break;
        if (!receive(regions, header.regions * sizeof *regions)) break;
        for (uint32_t i = 0; i < header.regions; i++) {
            uint8_t *at = AT(uint8_t *, regions[i].at);
            if (at < MEMORY || at + regions[i].bytes > MEMORY + MEMORY_BYTES) fail("an operand outside the memory");
            ASAN_UNPOISON_MEMORY_REGION(at, regions[i].bytes);
        }
        choose(header.form);
        const double result = call(header.name, arguments);
        answer(&result, sizeof result);
        for (uint32_t i = 0; i < header.regions; i++) ASAN_POISON_MEMORY_REGION(AT(uint8_t *, regions[i].at), regions[i].bytes);
        free(regions);
    }
    return none;
}

/* file -1: anonymous memory. */
static void *map(uint8_t *at, size_t bytes, int file) {
    const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0) != at) {
        fail("the kernels' address range is already in use");
    }
    return at;
}

int main(int count, char **given) {
    if (count != 2) fail("expected one argument: the memory file");
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) & ~O_NONBLOCK);
    ASAN_POISON_MEMORY_REGION(map(MEMORY, MEMORY_BYTES, open(given[1], O_RDWR)), MEMORY_BYTES);
    pthread_attr_t low;
    pthread_t thread;
    pthread_attr_init(&low);
    pthread_attr_setstack(&low, map(STACK, STACK_BYTES, -1), STACK_BYTES);
    if (pthread_create(&thread, &low, serve_calls, NULL) != 0) fail("no thread");
    pthread_join(thread, NULL);
    return 0;
}
