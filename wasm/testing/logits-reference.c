/* logits-reference.c: exports the scalar definitions of topk.c and logits.c for tests. */
#include <stdint.h>

#define REFERENCE(type, name, parameters, arguments)                                      \
    type name##__ref parameters;                                                          \
    __attribute__((export_name(#name "_reference"))) type name##_reference parameters {   \
        return name##__ref arguments;                                                     \
    }

REFERENCE(uint32_t, logits_top, (const float *row, uint32_t n, uint32_t most, float least, float *logits, uint32_t *ids),
          (row, n, most, least, logits, ids))
REFERENCE(void, logits_guide, (float *row, const float *guide, uint32_t n, float scale), (row, guide, n, scale))
REFERENCE(void, logits_mask, (float *row, const uint32_t *words, uint32_t n), (row, words, n))
REFERENCE(double, logits_sum_exp, (const float *row, uint32_t n, float best, float scale, float least),
          (row, n, best, scale, least))
REFERENCE(void, logits_spread, (const float *row, uint32_t n, double *out), (row, n, out))
REFERENCE(double, logits_weigh, (const float *logits, uint32_t count, float scale, float *weights),
          (logits, count, scale, weights))
