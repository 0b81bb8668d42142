// Llama. In: nothing. Out: Llama 1 to 3 and what was built like them: Mistral, SmolLM, TinyLlama.
import { PLAIN } from './decoder.ts'
import { family } from './family.ts'

export const llama = family(PLAIN, {
  gguf: { architecture: 'llama', pairing: 'interleaved' },
  hf: { classes: ['LlamaForCausalLM', 'MistralForCausalLM'] },
})
