// In: nothing. Out: which kernels the relaxed build has in more forms, for all that compiles them: see wasm/dot-relaxed.h.

/** Kernels of integer dots. */
export const DOT_FORMS = {
  pairs: {
    kernels: /^(linear_(w4|w4_channel|w8|swiglu|sparse|experts)|sparse_(sb84|sv32)|attention)\.c$/,
    define: '-DDOT_PAIRS',
  },
  wide: { kernels: /^linear_(wide|swiglu|experts)\.c$/, define: '-DDOT_WIDE' },
}
/** In no other form. */
export const WIDE_ALONE = 'linear_wide.c'
