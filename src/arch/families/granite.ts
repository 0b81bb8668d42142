// Granite. In: nothing. Out: Granite 3, dense: Llama with factors on embeddings, scores, block outputs and
// logits.
import { PLAIN } from '../decoder.ts'
import { defaults, family } from '../family.ts'

export const granite = family(PLAIN, {
  gguf: {
    architecture: 'granite',
    pairing: 'interleaved',
    config: (fields, { headDim }) => ({
      embeddingScale: fields.number('embedding_scale', 1),
      residualScale: fields.number('residual_scale', 1),
      attentionScale: fields.number('attention.scale', 1 / Math.sqrt(headDim)),
      logitScale: 1 / fields.number('logit_scale'),
    }),
  },
  hf: {
    classes: { GraniteForCausalLM: defaults(32_000, 4096, 11_008, 32, 32, 2048) },
    config: (fields) => ({
      embeddingScale: fields.number('embedding_multiplier', 1),
      residualScale: fields.number('residual_multiplier', 1),
      attentionScale: fields.number('attention_multiplier', 1),
      logitScale: 1 / fields.number('logits_scaling', 1),
    }),
  },
})
