// Qwen3. In: nothing. Out: Qwen3, dense: Llama with norms of each head's queries and keys.
import { PLAIN } from './decoder.ts'
import { family } from './family.ts'

export const qwen3 = family(
  { ...PLAIN, headNorms: 'head' },
  {
    gguf: { architecture: 'qwen3', pairing: 'halves' },
    hf: { classes: ['Qwen3ForCausalLM'], windowIsOptional: true },
  },
)
