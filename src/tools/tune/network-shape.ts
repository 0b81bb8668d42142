// What the trainer (trainer/network.py) needs to know about a model, apart from its tensors.
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { ropeTables } from '../../core/arch/rope.ts'
import { HalfbyteError } from '../../core/base/errors.ts'

/** Families that the trainer computes. A folder must be able to hold them too: shrink/folder. */
const TUNABLE: ReadonlyMap<string, 'silu' | 'gelu'> = new Map(
  Object.entries({ llama: 'silu', qwen2: 'silu', qwen3: 'silu', smollm3: 'silu', gemma3: 'gelu' } as const),
)

export interface NetworkShape {
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly normEpsilon: number
  /** Added to the stored weights of norms. */
  readonly normOffset: number
  readonly activation: 'silu' | 'gelu'
  readonly embeddingScale: number
  /** Factor of attention's scores. */
  readonly attentionScale: number
  readonly logitCap: number | undefined
  /** Positions that windowed layers see. */
  readonly window: number | undefined
  readonly windowLayers: readonly number[]
  /** The usual rotation and, in models that have one, that of `localLayers`. */
  readonly rotations: readonly Rotation[]
  readonly localLayers: readonly number[]
  readonly unrotatedLayers: readonly number[]
}

interface Rotation {
  /** Radians per position. [headDim/2] */
  readonly frequencies: readonly number[]
  /** Factor of cosines and sines. */
  readonly magnitude: number
}

/** Throws `unsupported` for a model that the trainer does not compute. */
export function networkShape(config: ModelConfig): NetworkShape {
  const { name, family, layers, heads, kvHeads, headDim, normEpsilon, window: sliding } = config
  const activation = TUNABLE.get(family)
  if (activation === undefined || config.experts !== undefined) {
    const what = activation === undefined ? `the family ${family}` : 'experts'
    throw new HalfbyteError(
      'unsupported',
      `${name} has ${what}, which tune cannot train; give a model of ${[...TUNABLE.keys()].join(', ')} (Mistral, SmolLM2 and TinyLlama are llama)`,
      { family },
    )
  }
  const other = unknownSetting(config, activation)
  if (other !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `${name} has ${other}, which tune does not compute; give another model of this family`,
      { family, setting: other },
    )
  }
  const windowLayers = sliding?.layers ?? []
  const rotations = ropeTables(config, config.contextLength)
  return {
    ...{ layers, heads, kvHeads, headDim, normEpsilon, activation, windowLayers },
    normOffset: family === 'gemma3' ? 1 : 0,
    embeddingScale: config.embeddingScale ?? 1,
    attentionScale: config.attentionScale ?? 1 / Math.sqrt(headDim),
    logitCap: config.logitCap === 0 ? undefined : config.logitCap,
    window: sliding?.positions,
    rotations: rotations.map(({ frequencies, magnitude }) => ({ frequencies: [...frequencies], magnitude })),
    localLayers: rotations.length > 1 ? windowLayers : [],
    unrotatedLayers: config.unrotatedLayers ?? [],
  }
}

/** A setting that changes the arithmetic of these families in a way that the trainer lacks. */
function unknownSetting(config: ModelConfig, activation: string): string | undefined {
  const { rope, headDim } = config
  const differences: readonly (readonly [what: string, differs: boolean])[] = [
    ['another activation', (config.activation ?? activation) !== activation],
    ['heads that are rotated in part', rope.dims !== headDim],
    ['frequencies that depend on the length', ['dynamic', 'longrope'].includes(rope.scaling?.type ?? '')],
    ['clipped queries and keys', config.qkvLimit !== undefined],
    ['a cap on attention scores', (config.attentionCap ?? 0) !== 0],
    [
      'factors of blocks or logits',
      [config.residualScale, config.logitScale].some((each) => (each ?? 1) !== 1),
    ],
    ['two kinds of heads', config.fullHeads !== undefined],
  ]
  return differences.find(([, differs]) => differs)?.[0]
}
