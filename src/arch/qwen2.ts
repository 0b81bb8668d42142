// Qwen2. In: nothing. Out: Qwen2 and Qwen2.5, dense: Llama with biases on Q, K and V.
import { PLAIN } from './decoder.ts'
import { family } from './family.ts'

export const qwen2 = family(
  { ...PLAIN, qkvBias: true },
  {
    gguf: { architecture: 'qwen2', pairing: 'halves' },
    hf: { classes: ['Qwen2ForCausalLM'], windowIsOptional: true },
  },
)
