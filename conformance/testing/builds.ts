// Builds. In: nothing. Out: the kernels and thread counts that must not change what a model says.
export const BUILDS = (['relaxed', 'simd128'] as const).flatMap((build) =>
  [1, 2].map((threads) => ({ build, threads })),
)
