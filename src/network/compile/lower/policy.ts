// Policies for multiplying by constant matrices, and for nodes that are not compiled.

/**
 * How constant matrices are multiplied. `auto`: the file's 8-bit and 4-bit codes as they are, floats as f32.
 * `f32`: everything in f32. `w8`, `w4`: floats are rounded to 8 or 4 bits too.
 */
export type WeightPolicy = (typeof NETWORK_WEIGHTS)[number]
export const NETWORK_WEIGHTS = ['auto', 'f32', 'w8', 'w4'] as const

/** The policy of a program. `codes`: like `auto`, but without the engine's kernels. */
export type ProgramWeights = WeightPolicy | 'codes'

/** What runs the nodes that are not compiled. */
export const NETWORK_FALLBACKS = ['ort'] as const
