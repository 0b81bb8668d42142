// OLMo 2. In: nothing. Out: OLMo 2 and 3: norms on what blocks add, and over whole rows of queries and keys.
import { PLAIN } from './decoder.ts'
import { family } from './family.ts'

export const olmo2 = family(
  { ...PLAIN, norms: 'after', headNorms: 'row' },
  {
    gguf: {
      architecture: 'olmo2',
      pairing: 'halves',
      windowPeriod: 4,
      // Frequencies are scaled where there is no window.
      config: (_, { rope, window }) => ({ localRope: window && { ...rope, scaling: undefined } }),
    },
    hf: {
      classes: ['Olmo2ForCausalLM', 'Olmo3ForCausalLM'],
      windowPeriod: 4,
      config: (_, { rope, window }) => ({ localRope: window && { ...rope, scaling: undefined } }),
    },
  },
)
