// Finds the tensors of an encoder's graph by their names in files.
import { checkShape, refuseStrangers, requireTensor, type Weights } from '../../core/arch/tensors/names.ts'
import { pieceOf } from '../../core/arch/tensors/pieces.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { TensorInfo, ValueChange } from '../../core/formats/tensors.ts'

/** Names of tensors to ignore: heads for other tasks, and values that can be computed. */
const UNUSED = /(^|\.)(pooler|cls|lm_head)\.|position_ids$|^(cls|head|classifier|decoder|output|dense_[23])\b/

/** Throws `unsupported` for tensors that the graph would ignore. */
export const refuseUnread = (file: ModelFile, used: ReadonlySet<string>): void =>
  refuseStrangers(file, used, (name) => UNUSED.test(name), 'an encoder of this kind')

/** A tensor's names in GGUF and safetensors, without `.weight`; those of biases end with `.bias`. */
type Names = readonly [gguf: string, safetensors: string]

interface Gatherer {
  /** A matrix or vector. */
  readonly put: (name: string, names: Names, shape: readonly number[], change?: ValueChange) => void
  /** Equal parts of a stored matrix, stacked by rows. `shape`: the shape of one part. */
  readonly split: (parts: readonly string[], names: Names, shape: readonly [number, number]) => void
  /** Throws `unsupported` for tensors that were not requested. */
  readonly finish: () => Weights
}

/** Finds tensors whose names in safetensors begin with `prefix`. Throws `architecture` like `weights`. */
export function gatherer(file: ModelFile, prefix = ''): Gatherer {
  const weights = new Map<string, TensorInfo>()
  const used = new Set<string>()
  const whole = (name: string) => (name.endsWith('.bias') ? name : `${name}.weight`)
  const stored = ([gguf, safetensors]: Names, shape: readonly number[]): TensorInfo => {
    const tensor = requireTensor(file, whole(file.format === 'gguf' ? gguf : prefix + safetensors))
    checkShape(file.name, tensor, shape)
    used.add(tensor.name)
    return tensor
  }
  return {
    put(name, names, shape, change) {
      const tensor = stored(names, shape)
      weights.set(whole(name), pieceOf(tensor, { tensor: tensor.name, change }, shape))
    },
    split(parts, names, [n, k]) {
      const tensor = stored(names, [parts.length * n, k])
      for (const [index, part] of parts.entries()) {
        const rows = { tensor: tensor.name, runs: [[index * n, n]] as const }
        weights.set(`${part}.weight`, pieceOf(tensor, rows, [n, k]))
      }
    },
    finish() {
      refuseUnread(file, used)
      return weights
    },
  }
}
