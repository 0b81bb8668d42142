// Adapters. In: the matrices of a LoRA. Out: the changes they make, by the tensor that they change.
import { HalfbyteError } from '../base/errors.ts'
import { malformed, shown } from './malformed.ts'
import type { TensorInfo } from './tensors.ts'

/** A change that adds scale * up * down to a matrix [outputs, inputs]. */
export interface LowRank {
  /** A: [rank, inputs] */
  readonly down: TensorInfo
  /** B: [outputs, rank] */
  readonly up: TensorInfo
  readonly scale: number
}

export interface Adapter {
  readonly name: string
  readonly format: 'gguf' | 'safetensors'
  /** `general.architecture` of a GGUF. */
  readonly architecture?: unknown
  /** By the matrix's name in model files of the same format. */
  readonly changes: ReadonlyMap<string, LowRank>
}

/** Pairs A with B. Throws `format` where they do not belong together, `unsupported` for other tensors. */
export function pairsOf(
  file: string,
  tensors: ReadonlyMap<string, TensorInfo>,
  pattern: RegExp,
  scale: (rank: number) => number,
  ending = '',
): Map<string, LowRank> {
  const halves = new Map<string, { a?: TensorInfo; b?: TensorInfo }>()
  for (const [name, tensor] of tensors) {
    const [, module, half] = pattern.exec(name) ?? []
    if (module === undefined || half === undefined) throw otherKind(file, `it changes ${shown(name)}`)
    halves.set(module, { ...halves.get(module), [half.toLowerCase()]: tensor })
  }
  return new Map(
    [...halves].map(([module, { a: down, b: up }]) => {
      const [rank, inner] = [down?.shape[0], up?.shape[1]]
      if (down?.shape.length !== 2 || up?.shape.length !== 2 || !rank || rank !== inner) {
        throw malformed(
          file,
          `${shown(module)} has A [${down?.shape}] and B [${up?.shape}] where ranks must agree`,
        )
      }
      return [module + ending, { down, up, scale: scale(rank) }]
    }),
  )
}

export const otherKind = (file: string, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: ${what}, and Halfbyte reads LoRA adapters of matrices; merge it into its model`,
  )
