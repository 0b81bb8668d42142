// Llama. In: nothing. Out: Llama 1 to 3 and models with the same structure: Mistral, SmolLM, TinyLlama.
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

export const llama = family(PLAIN, {
  gguf: { architecture: 'llama', pairing: 'interleaved' },
  hf: {
    classes: {
      LlamaForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048),
      MistralForCausalLM: defaults(32_000, 4096, 14_336, 32, 32, 131_072, {
        num_key_value_heads: 8,
        sliding_window: 4096,
      }),
    },
  },
})
