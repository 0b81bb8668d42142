// Qwen3. In: nothing. Out: Qwen3, dense: Llama with norms of each head's queries and keys.
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'
import { QWEN_DEFAULTS } from './qwen2.ts'

export const qwen3 = family(
  { ...PLAIN, headNorms: 'head' },
  {
    gguf: { architecture: 'qwen3', pairing: 'halves' },
    hf: {
      classes: {
        Qwen3ForCausalLM: defaults(151_936, 4096, 22_016, 32, 32, 32_768, {
          ...QWEN_DEFAULTS,
          head_dim: 128,
        }),
      },
    },
  },
)
