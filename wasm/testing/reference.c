/* reference.c: the scalar definitions, for tests. In: one op record, the step. Out: the result that run() must match
 * bit for bit. embed is its own definition and is checked against the test's packer. Every other definition is in its
 * kernel's file, under a line `definition: OP_...`. */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "simd/simd.h"
#include "simd/softplus.h"
#define DEFINITIONS
#include "kernels.h"

/* The definition of linear_swiglu: a linear into private rows, then a swiglu of them. */
/* definition: OP_LINEAR_SWIGLU_W8A8_G32, OP_LINEAR_SWIGLU_W4A8_G32, OP_LINEAR_SWIGLU_W4MA8_G32 */
void linear_swiglu__ref(const struct op_linear_swiglu *op, uint32_t m) {
    static float made[16384];
    const uint32_t wide = round_up(op->n, GROUP), y = (uint32_t)(uintptr_t)made;
    if (2 * wide > sizeof made / sizeof made[0]) __builtin_trap();
    const struct op_linear linear = {.w = op->w, .bias = op->bias, .n = 2 * wide, .k = op->k, .x = op->x,
                                     .x_stride = op->x_stride, .y = y};
    const struct op_swiglu swiglu = {.gate = y, .up = y + 4 * wide, .n = op->n, .q = op->q, .q_stride = op->q_stride,
                                     .activation = op->activation};
    switch (op->code) {
    case OP_LINEAR_SWIGLU_W8A8_G32: linear_w8a8__ref(&linear, m); break;
    case OP_LINEAR_SWIGLU_W4A8_G32: linear_w4a8__ref(&linear, m); break;
    default: linear_w4ma8__ref(&linear, m); break;
    }
    swiglu__ref(&swiglu, m);
}

__attribute__((export_name("reference")))
void reference(const void *op, const struct step *step) { define(op, step); }

/* choose_dots: sets the dot form that run() uses from now on (enum dot_form). dots_in_use: the current form, or -1
   before a module's first run if none was chosen. */
void choose_dots(uint32_t form);
uint32_t dots_in_use(void);
__attribute__((export_name("choose_dots")))
void choose(uint32_t form) { choose_dots(form); }
__attribute__((export_name("dots_in_use")))
uint32_t in_use(void) { return dots_in_use(); }

/* y[i] = e^x[i], with vectors and with scalars. n is a multiple of 4. */
__attribute__((export_name("exponential")))
void exponential(float *y, float *scalar, const float *x, uint32_t n) {
    const struct exp_constants c = exp_constants();
    for (uint32_t i = 0; i < n; i += 4) {
        store(y + i, exp4(load(x + i), &c));
        for (uint32_t j = i; j < i + 4; j++) scalar[j] = exp__ref(x[j]);
    }
}

/* y[i] = softplus(x[i]), with vectors and with scalars. n is a multiple of 4. */
__attribute__((export_name("step_size")))
void step_size(float *y, float *scalar, const float *x, uint32_t n) {
    const struct exp_constants c = exp_constants();
    for (uint32_t i = 0; i < n; i += 4) {
        store(y + i, softplus(load(x + i), &c));
        for (uint32_t j = i; j < i + 4; j++) scalar[j] = softplus__ref(x[j]);
    }
}

/* y[i] = 2^x[i], x at most 0, with vectors and with scalars. n is a multiple of 4. */
__attribute__((export_name("power_of_two")))
void power_of_two(float *y, float *scalar, const float *x, uint32_t n) {
    const struct exp2_constants c = exp2_constants();
    for (uint32_t i = 0; i < n; i += 4) {
        v128_t v = load(x + i);
        exp2_vectors(&v, 1, &c);
        store(y + i, v);
        for (uint32_t j = i; j < i + 4; j++) scalar[j] = exp2__ref(x[j]);
    }
}
