// Qwen2. In: nothing. Out: Qwen2 and Qwen2.5, dense: Llama with biases on Q, K and V.
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

/** If the window is used, layers from `max_window_layers` on have it. */
export const QWEN_DEFAULTS = {
  ...{ num_key_value_heads: 32, use_sliding_window: false, sliding_window: 4096, max_window_layers: 28 },
}

export const qwen2 = family(
  { ...PLAIN, qkvBias: true },
  {
    gguf: { architecture: 'qwen2', pairing: 'halves' },
    hf: { classes: { Qwen2ForCausalLM: defaults(151_936, 4096, 22_016, 32, 32, 32_768, QWEN_DEFAULTS) } },
  },
)
