// The data behind `halfbyte inspect`: printed unchanged with --json, otherwise as text.
import { BLOCK_POSITIONS } from '../../../core/abi/constants.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { planTotals } from '../../../core/graph/plan/cost.ts'
import { memoryNeed } from '../../../engine/load/memory-need.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'

/** Sizes are bytes, lengths are tokens. */
export function modelFacts(prepared: PreparedModel) {
  const { file, config, plan, parameters, contextLength, sampling } = prepared
  const { weightBytes, arenaBytes, blockBytes, slabBytes, decodeBytes } = planTotals(plan)
  const blockTotal = blockBytes.reduce((sum, bytes) => sum + bytes, 0)
  const { heads, headDim, kvHeads, ssm, attentionLayers } = config
  return {
    name: file.name,
    format: file.format,
    quantization: file.quantization,
    architecture: config.family,
    parameters,
    layers: config.layers,
    hiddenSize: config.hiddenSize,
    intermediateSize: config.intermediateSize || ssm?.innerSize,
    attention: heads > 0 ? { heads, headDim, kvHeads, layers: attentionLayers } : undefined,
    recurrence: ssm,
    vocabularySize: config.vocabSize,
    isTied: config.tiedEmbeddings,
    trainedContext: config.contextLength,
    contextLength,
    sampling,
    weightBytes,
    readPerTokenBytes: decodeBytes,
    activationBytes: arenaBytes,
    state: {
      blockTokens: BLOCK_POSITIONS,
      blockBytes: blockTotal,
      contextBytes: Math.ceil(contextLength / BLOCK_POSITIONS) * blockTotal,
      fixedBytes: slabBytes,
    },
    memoryBytes: memoryNeed(prepared).fullBytes,
    tensors: tensorFacts(prepared),
  }
}

export type ModelFacts = ReturnType<typeof modelFacts>

/** How each slot is stored in the file and in memory. */
function tensorFacts({ plan, weights }: PreparedModel) {
  return plan.slots.map((slot) => {
    const names = slot.ref.parts.map((part) => part.name)
    const forms = names.map((name) => weightOf(weights, name))
    return {
      names,
      shape: slot.ref.kind === 'vector' ? [slot.n] : [slot.n, slot.ref.k],
      stored: [...new Set(forms.map(({ dtype, like }) => like ?? dtype))],
      encoding: slot.encoding,
      bytes: slot.bytes,
      origins: [...new Set(forms.flatMap(({ origin }) => origin ?? []))],
    }
  })
}
