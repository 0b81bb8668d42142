// Builds. The builds and thread counts that must all give the same replies.
export const BUILDS = (['relaxed', 'simd128'] as const).flatMap((build) =>
  [1, 2].map((threads) => ({ build, threads })),
)
