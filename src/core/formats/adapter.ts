// LoRA and DoRA adapters: pairs their matrices and returns the change to each tensor.
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
  /**
   * The matrix is a table of embeddings: A is [rank, rows], B [columns, rank], and scale * (B * A)^T is
   * added.
   */
  readonly isTable?: boolean | undefined
  /** DoRA: the norm of each output, or of each column of a table. */
  readonly magnitude?: TensorInfo | undefined
}

/** Number of outputs and inputs of the matrix that a change applies to. */
export const changedShape = ({ down, up, isTable }: LowRank): readonly [number, number] => {
  const [inputs = 0, outputs = 0] = [down.shape[1], up.shape[0]]
  return isTable === true ? [inputs, outputs] : [outputs, inputs]
}

/** A tensor that replaces the model's tensor. */
export interface Replacement {
  readonly tensor: TensorInfo
  /**
   * True if this is the base matrix of a change, which a tied matrix shares. Otherwise a tied matrix keeps
   * the model's tensor.
   */
  readonly isBase: boolean
}

/** A vector that is scaled and added to a bias. */
export interface Shift {
  readonly tensor: TensorInfo
  readonly scale: number
}

export interface Adapter {
  readonly name: string
  readonly format: 'gguf' | 'safetensors'
  /** The `general.architecture` of a GGUF file. */
  readonly architecture?: unknown
  /** This map and the next two are keyed by tensor names in model files of the same format. */
  readonly changes: ReadonlyMap<string, LowRank>
  readonly replacements?: ReadonlyMap<string, Replacement> | undefined
  readonly shifts?: ReadonlyMap<string, Shift> | undefined
}

/**
 * Pairs A with B. `scale` is called with a rank and a module's name. Throws `format` if matrices do not
 * belong together, `unsupported` for other tensors.
 */
export function pairsOf(
  file: string,
  tensors: ReadonlyMap<string, TensorInfo>,
  pattern: RegExp,
  scale: (rank: number, module: string) => number,
  ending = '',
): Map<string, LowRank> {
  const halves = new Map<string, { A?: TensorInfo; B?: TensorInfo }>()
  for (const [name, tensor] of tensors) {
    const [, module, letter] = pattern.exec(name) ?? []
    if (module === undefined || letter === undefined) throw otherKind(file, `it changes ${shown(name)}`)
    const half = letter.toUpperCase() as 'A' | 'B'
    const others = halves.get(module)
    // PEFT puts an adapter's name into its tensors' names, so one file can hold several adapters for a
    // matrix.
    const twin = others?.[half]
    if (twin !== undefined) {
      throw malformed(
        file,
        `${shown(module)} has ${half} twice, as ${shown(twin.name)} and as ${shown(name)}`,
        { tensor: name },
      )
    }
    halves.set(module, { ...others, [half]: tensor })
  }
  return new Map(
    [...halves].map(([module, { A: down, B: up }]) => {
      if (down === undefined || up === undefined) {
        const [has, lacks] = up === undefined ? ['A', 'B'] : ['B', 'A']
        throw malformed(file, `${shown(module)} has ${has} but no ${lacks}`)
      }
      const rank = down.shape[0]
      const inner = up.shape[1]
      if (down.shape.length !== 2 || up.shape.length !== 2 || !rank || rank !== inner) {
        throw malformed(
          file,
          `${shown(module)} has A [${down.shape}] and B [${up.shape}], whose ranks differ`,
        )
      }
      const factor = scale(rank, module)
      if (!Number.isFinite(factor))
        throw malformed(file, `${shown(module)} has the scale ${factor}, which is not a finite number`)
      return [module + ending, { down, up, scale: factor }]
    }),
  )
}

export const otherKind = (file: string, what: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file}: ${what}, but Halfbyte only supports LoRA and DoRA; merge the adapter into its model`,
  )
