// How much each layer of a model changes the rows that pass through it. In: a prepared model, windows of ids.
// Out: one number for each layer.
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type WalkOptions, walk } from '../calibrate/walk.ts'
import { memoryWork } from '../calibrate/work-files.ts'
import { layerOf } from './drop-layers.ts'

type InfluenceOptions = Omit<WalkOptions, 'visit' | 'drift' | 'work' | 'onOutput'>

/**
 * Block influence of ShortGPT: 1 - mean over all tokens of the cosine between a layer's input and its output.
 * A layer without influence gives back what it read. Keeps the rows of all windows in memory twice. Throws
 * what `walk` throws.
 */
export async function layerInfluence(prepared: PreparedModel, options: InfluenceOptions): Promise<number[]> {
  const influence: number[] = []
  let layer: number | undefined
  let inputs: Float32Array[] = []
  let outputs: Float32Array[] = []
  const close = () => {
    if (layer !== undefined) influence[layer] = 1 - meanCosine(inputs, outputs, prepared.config.hiddenSize)
  }
  await walk(prepared, {
    ...options,
    work: memoryWork(),
    visit: async () => undefined,
    onOutput: (matrices, window, rows) => {
      const own = layerOf(matrices[0] ?? '')
      if (own !== undefined && own !== layer) {
        close()
        layer = own
        inputs = outputs
        outputs = []
      }
      outputs[window] = rows
    },
  })
  close()
  return influence
}

function meanCosine(left: readonly Float32Array[], right: readonly Float32Array[], width: number): number {
  let sum = 0
  let count = 0
  for (const [at, own] of left.entries()) {
    const other = right[at]!
    for (let row = 0; row < own.length; row += width, count++) sum += cosine(own, other, row, width)
  }
  return sum / count
}

/** Of the rows that begin at `first` in both. A row of zeros is like none. */
function cosine(left: Float32Array, right: Float32Array, first: number, width: number): number {
  let product = 0
  let ownSquares = 0
  let otherSquares = 0
  for (let at = first; at < first + width; at++) {
    const own = left[at]!
    const other = right[at]!
    product += own * other
    ownSquares += own * own
    otherSquares += other * other
  }
  return product / (Math.sqrt(ownSquares * otherSquares) || 1)
}
