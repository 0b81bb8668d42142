/* reference.c: the scalar definitions, for tests. In: one op record, the step. Out: what run() must compute, to the
 * bit. embed is its own definition and is checked against the test's packer. */
#include "simd/exp2.h"
#include "core/kernel.h"
#include "simd/simd.h"
#include "simd/softplus.h"

void rmsnorm__ref(const struct op_rmsnorm *, const struct step *, uint32_t);
void quantize__ref(const struct op_quantize *, uint32_t);
void linear_f32__ref(const struct op_linear *, uint32_t);
void linear_f16__ref(const struct op_linear *, uint32_t);
void linear_bf16__ref(const struct op_linear *, uint32_t);
void linear_w8a8__ref(const struct op_linear *, uint32_t);
void linear_w4a8__ref(const struct op_linear *, uint32_t);
void linear_w4ma8__ref(const struct op_linear *, uint32_t);
void linear_w4a8_channel__ref(const struct op_linear *, uint32_t);
void linear_sparse__ref(const struct op_linear_sparse *, uint32_t);
void rope_kv__ref(const struct op_rope_kv *, const struct step *, uint32_t);
void attention__ref(const struct op_attention *, const struct step *, uint32_t);
void shift_kv__ref(const struct op_shift_kv *);
void conv1d__ref(const struct op_conv1d *, const struct step *, uint32_t);
void scan__ref(const struct op_scan *, const struct step *, uint32_t);
void ssd__ref(const struct op_ssd *, const struct step *, uint32_t);
void swiglu__ref(const struct op_swiglu *, uint32_t);
void add__ref(const struct op_add *, uint32_t);
void layernorm__ref(const struct op_layernorm *, const struct step *, uint32_t);
void rescale__ref(const struct op_rescale *, uint32_t);
void renorm__ref(const struct op_renorm *, uint32_t);
void check_parts__ref(const struct op_check_parts *);
void combine__ref(const struct op_combine *, const struct step *, uint32_t);

/* The definition of linear_swiglu: a linear into private rows, then a swiglu of them. */
static void linear_swiglu__ref(const struct op_linear_swiglu *op, uint32_t m) {
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

/* Ops that process each sequence by itself. Returns 0 for all others. */
static int sequences__ref(const void *op, const struct step *step) {
    const uint32_t code = ((const struct op *)op)->code;
    if (code != OP_CONV1D && code != OP_SCAN && code != OP_SSD) return 0;
    for (uint32_t s = 0; s < step->sequences; s++) {
        if (code == OP_CONV1D) conv1d__ref(op, step, s);
        else if (code == OP_SCAN) scan__ref(op, step, s);
        else ssd__ref(op, step, s);
    }
    return 1;
}

__attribute__((export_name("reference")))
void reference(const void *op, const struct step *step) {
    const struct op *o = op;
    /* These two do not work on rows. */
    if (o->code == OP_SHIFT_KV) return shift_kv__ref(op);
    if (o->code == OP_CHECK_PARTS) return check_parts__ref(op);
    if (sequences__ref(op, step)) return;
    for (uint32_t m = 0; m < row_count(o, step); m++) {
        switch (o->code) {
        case OP_RMSNORM: rmsnorm__ref(op, step, m); break;
        case OP_QUANTIZE: quantize__ref(op, m); break;
        case OP_LINEAR_F32: linear_f32__ref(op, m); break;
        case OP_LINEAR_F16: linear_f16__ref(op, m); break;
        case OP_LINEAR_BF16: linear_bf16__ref(op, m); break;
        case OP_LINEAR_W8A8_G32: linear_w8a8__ref(op, m); break;
        case OP_LINEAR_W4A8_G32: linear_w4a8__ref(op, m); break;
        case OP_LINEAR_W4MA8_G32: linear_w4ma8__ref(op, m); break;
        case OP_LINEAR_W4A8_CHANNEL: linear_w4a8_channel__ref(op, m); break;
        case OP_LINEAR_SPARSE: linear_sparse__ref(op, m); break;
        case OP_ROPE_KV: rope_kv__ref(op, step, m); break;
        case OP_ATTENTION: attention__ref(op, step, m); break;
        case OP_SWIGLU: swiglu__ref(op, m); break;
        case OP_ADD: add__ref(op, m); break;
        case OP_LAYERNORM: layernorm__ref(op, step, m); break;
        case OP_RESCALE: rescale__ref(op, m); break;
        case OP_RENORM: renorm__ref(op, m); break;
        case OP_COMBINE: combine__ref(op, step, m); break;
        case OP_LINEAR_SWIGLU_W8A8_G32:
        case OP_LINEAR_SWIGLU_W4A8_G32:
        case OP_LINEAR_SWIGLU_W4MA8_G32: linear_swiglu__ref(op, m); break;
        default: __builtin_trap();
        }
    }
}

/* choose_dots: the form of the dots that run() uses from now on, of enum dot_form; all are the same in simd128.
 * dots_in_use: the form it uses now, or -1 before a module's first run if none was chosen. */
void choose_dots(uint32_t form);
uint32_t dots_in_use(void);
__attribute__((export_name("choose_dots")))
void choose(uint32_t form) { choose_dots(form); }
__attribute__((export_name("dots_in_use")))
uint32_t in_use(void) { return dots_in_use(); }

/* y[i] = e^x[i], by vectors and by scalars. n is a multiple of 4. */
__attribute__((export_name("exponential")))
void exponential(float *y, float *scalar, const float *x, uint32_t n) {
    const struct exp_constants c = exp_constants();
    for (uint32_t i = 0; i < n; i += 4) {
        store(y + i, exp4(load(x + i), &c));
        for (uint32_t j = i; j < i + 4; j++) scalar[j] = exp__ref(x[j]);
    }
}

/* y[i] = softplus(x[i]), by vectors and by scalars. n is a multiple of 4. */
__attribute__((export_name("step_size")))
void step_size(float *y, float *scalar, const float *x, uint32_t n) {
    const struct exp_constants c = exp_constants();
    for (uint32_t i = 0; i < n; i += 4) {
        store(y + i, softplus(load(x + i), &c));
        for (uint32_t j = i; j < i + 4; j++) scalar[j] = softplus__ref(x[j]);
    }
}

/* y[i] = 2^x[i], x at most 0, by vectors and by scalars. n is a multiple of 4. */
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
