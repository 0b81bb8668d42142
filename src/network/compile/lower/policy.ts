// The precisions in which a network multiplies by constant matrices.

/**
 * How constant matrices are multiplied. `auto`: codes of the file in 8 or 4 bits, floats as f32. `f32`: all
 * in f32. `w8`, `w4`: floats too are rounded to so many bits.
 */
export type WeightPolicy = (typeof NETWORK_WEIGHTS)[number]
export const NETWORK_WEIGHTS = ['auto', 'f32', 'w8', 'w4'] as const

/** What runs the nodes that are not compiled. */
export const NETWORK_FALLBACKS = ['ort'] as const
