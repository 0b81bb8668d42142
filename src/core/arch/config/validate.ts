// Checks the hyperparameters that a file states, and freezes them. Errors have the numbers: `architecture`
// for impossible values, `unsupported` for values that no kernel has.
import { HalfbyteError } from '../../base/errors.ts'
import { familyFile } from '../families.ts'
import type { Family, ModelConfig, RopeConfig, SsmConfig } from './config.ts'
import { unbuiltVariant } from './fields.ts'

/** No model of these families has ever exceeded these: a header that says more is lying. */
const MOST = {
  hiddenSize: 1 << 17,
  layers: 1 << 10,
  heads: 1 << 10,
  kvHeads: 1 << 10,
  headDim: 256,
  intermediateSize: 1 << 20,
  vocabSize: 1 << 22,
  contextLength: 1 << 26,
} as const

/** Maximum number of experts of a layer: the router's kernel looks through all of them for each row. */
const MOST_EXPERTS = 1 << 10

/** Models of recurrent layers alone have no heads and no MLP. */
const NONE_WHERE_RECURRENT: ReadonlySet<string> = new Set(['heads', 'kvHeads', 'headDim', 'intermediateSize'])

/** Families with recurrent layers, and the kind of those layers. */
const RECURRENT: Readonly<Partial<Record<Family, SsmConfig['kind']>>> = {
  mamba: 'mamba',
  mamba2: 'mamba2',
  granitehybrid: 'mamba2',
}

/** Checks every number. `file` is for the sentence. */
export function validConfig(file: string, config: ModelConfig): ModelConfig {
  const { localRope, rope, ssm } = config
  const check = new ConfigCheck(file)
  check.parts(config)
  check.sizes(config)
  if (ssm !== undefined) check.recurrence(ssm)
  check.scalars(config)
  for (const each of localRope === undefined ? [rope] : [rope, localRope]) {
    // Without positions nothing is rotated.
    if (ssm === undefined || each.dims !== 0) check.rope(each, config.headDim)
  }
  return frozen(config)
}

/** Each method throws for what it does not accept. */
class ConfigCheck {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /**
   * A pack may claim any family. Everything that the family's graph reads must be present, and nothing else.
   */
  parts({ family, heads, experts, ssm, convTaps }: ModelConfig): void {
    const { traits } = familyFile(family)
    const parts = [
      ['heads', heads > 0, traits !== undefined],
      ['experts', experts !== undefined, traits?.mlp === 'experts'],
      ['ssm', ssm !== undefined, family in RECURRENT],
      ['ssm.heads', ssm?.kind === 'mamba2', RECURRENT[family] === 'mamba2'],
      ['convTaps', convTaps !== undefined, family === 'lfm2'],
    ] as const
    for (const [part, isThere, isDue] of parts)
      if (isThere !== isDue) throw this.#wrong(`a ${family} ${isDue ? 'needs' : 'has no'} ${part}`)
  }

  sizes(config: ModelConfig): void {
    const { heads, kvHeads, ssm, window: local, experts, convTaps } = config
    const isRecurrent = heads === 0 && ssm !== undefined
    for (const key of Object.keys(MOST) as (keyof typeof MOST)[]) {
      if (isRecurrent && config[key] === 0 && NONE_WHERE_RECURRENT.has(key)) continue
      if (key === 'headDim') this.#built(key, config[key], MOST[key], 4)
      else this.#whole(key, config[key], MOST[key])
    }
    if (heads > 0) this.#shared(heads, 'heads', `${kvHeads} key and value heads`, heads % kvHeads)
    if (local !== undefined) this.#whole("a window's positions", local.positions, MOST.contextLength)
    if (experts !== undefined) {
      this.#whole('experts.count', experts.count, MOST_EXPERTS)
      this.#whole('experts.used', experts.used, experts.count)
    }
    if (convTaps !== undefined) {
      this.#taps('convTaps', convTaps)
      this.#built('hiddenSize, which is convolved,', config.hiddenSize, MOST.hiddenSize, 8)
    }
  }

  /** What the kernels of wasm/recurrent/conv1d.c, scan.c and ssd.c can do. */
  recurrence(ssm: SsmConfig): void {
    const { innerSize, stateSize, convKernel } = ssm
    this.#built('ssm.innerSize', innerSize, 1 << 20, 32)
    this.#built('ssm.stateSize', stateSize, 1 << 12, ssm.kind === 'mamba2' ? 4 : 1)
    this.#taps('ssm.convKernel', convKernel)
    if (ssm.kind === 'mamba') {
      this.#whole('ssm.timeStepRank', ssm.timeStepRank, 1 << 14)
      return
    }
    const { heads, groups, timeStepLimit: [least, most] = [0, 1] } = ssm
    this.#require(
      'the most of ssm.timeStepLimit',
      most,
      most > 0 && least <= most,
      `above 0 and the least, ${least}`,
    )
    this.#whole('ssm.heads', heads, 1 << 12)
    this.#whole('ssm.groups', groups, heads)
    this.#built('the width of all groups of B and C', groups * stateSize * 2, 1 << 20, 8)
    const rest = (heads % groups) + (innerSize % heads)
    this.#shared(innerSize, 'channels', `${heads} heads in ${groups} groups`, rest)
    this.#built('the width of a recurrent head', innerSize / heads, 256, 4)
    this.#built('the part of the norm of a group of heads', innerSize / groups, 1 << 20, 32)
  }

  scalars(config: ModelConfig): void {
    const { normEpsilon, attentionCap = 0, logitCap = 0 } = config
    this.#require('normEpsilon', normEpsilon, normEpsilon >= 0 && normEpsilon < 1, 'from 0 to 1')
    for (const cap of [attentionCap, logitCap]) this.#require('a soft cap', cap, cap >= 0, 'from 0')
    for (const key of ['embeddingScale', 'residualScale', 'logitScale', 'attentionScale'] as const) {
      const value = config[key] ?? 1
      this.#require(key, value, Number.isFinite(value), 'a number')
    }
  }

  rope({ theta, dims, scaling, sections }: RopeConfig, headDim: number): void {
    this.#built('rope.dims', dims, headDim, 2)
    this.#positive('rope.theta', theta)
    if (sections !== undefined) {
      const isWhole = sections.every((pairs) => Number.isInteger(pairs) && pairs >= 0)
      const sum = sections.reduce((all, pairs) => all + pairs, 0)
      if (!isWhole || sections.length !== 3 || sum !== dims / 2)
        throw this.#wrong(
          `rope.sections is [${sections}] but must be three whole numbers, ${dims / 2} in all`,
        )
    }
    // Every value that is neither a name nor a list is a number.
    for (const [name, value] of Object.entries(scaling ?? {})) {
      if (typeof value === 'number') this.#positive(`rope.scaling.${name}`, value)
      if (!Array.isArray(value)) continue
      if (value.length !== dims / 2) {
        throw this.#wrong(`rope.scaling.${name} has ${value.length} factors for ${dims / 2} frequencies`)
      }
      for (const factor of value) this.#positive(`one of rope.scaling.${name}`, factor)
    }
    if (scaling?.type !== 'llama3') return
    const { lowFrequencyFactor: low, highFrequencyFactor: high } = scaling
    this.#require('rope.scaling.highFrequencyFactor', high, high > low, `above lowFrequencyFactor, ${low}`)
  }

  /** Inputs that the kernels' convolutions can see. */
  #taps(key: string, count: number): void {
    this.#built(key, count, 4, 1, 2)
  }

  #whole(key: string, value: number, most: number): void {
    const isGood = Number.isSafeInteger(value) && value > 0 && value <= most
    this.#require(key, value, isGood, `a whole number from 1 to ${most}`)
  }

  /** The kernels support only some values of these numbers. */
  #built(key: string, value: number, most: number, multiple: number, least = multiple): void {
    this.#whole(key, value, Number.MAX_SAFE_INTEGER)
    if (value >= least && value <= most && value % multiple === 0) return
    throw unbuiltVariant(this.#file, `${key} ${value}`, `a multiple of ${multiple} from ${least} to ${most}`)
  }

  #positive(key: string, value: number): void {
    this.#require(key, value, value > 0 && value < Number.POSITIVE_INFINITY, 'above 0')
  }

  #require(key: string, value: number, isGood: boolean, wanted: string): void {
    if (!isGood) throw this.#wrong(`${key} is ${value} but must be ${wanted}`)
  }

  #shared(count: number, of: string, to: string, rest: number): void {
    if (rest !== 0) throw this.#wrong(`${count} ${of} cannot be shared out evenly to ${to}`)
  }

  #wrong(sentence: string): HalfbyteError {
    return new HalfbyteError(
      'architecture',
      `${this.#file}: ${sentence}; the configuration is wrong, so fetch or convert the model again`,
      { file: this.#file },
    )
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
