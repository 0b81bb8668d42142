// OLMo 2. In: nothing. Out: OLMo 2 and 3: norms on block outputs, and over whole rows of queries and keys.

import { localRope } from '../config/hf-rope.ts'
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

const SIZES = defaults(50_304, 4096, 11_008, 32, 32, 2048, { rms_norm_eps: 1e-5 })

export const olmo2 = family(
  { ...PLAIN, norms: 'after', headNorms: 'row' },
  {
    gguf: {
      architecture: 'olmo2',
      pairing: 'halves',
      windowPeriod: 4,
      // Only layers without a window scale their frequencies.
      config: (_, { rope, window }) => ({ localRope: window && { ...rope, scaling: undefined } }),
    },
    hf: {
      classes: {
        Olmo2ForCausalLM: SIZES,
        Olmo3ForCausalLM: { ...SIZES, rope_theta: 5e5, sliding_window: 4096, sliding_window_pattern: 4 },
      },
      config: (fields, common) => ({
        localRope: common.window && localRope(fields, common, common.rope.theta),
      }),
    },
  },
)
