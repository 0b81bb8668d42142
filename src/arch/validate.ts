// Validate. In: hyperparameters as a file states them. Out: the same ones, frozen, or an `architecture` error with the numbers.
import { HalfbyteError } from '../base/errors.ts'
import type { ModelConfig, RopeConfig, SsmConfig } from './config.ts'

/** Above these no model of these families has ever been: a header that says more is lying. */
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

/** Most experts of a layer: the router's kernel looks through all of them for each row. */
const MOST_EXPERTS = 1 << 10

/** Models of recurrent layers alone have no heads and no MLP. */
const NONE_WHERE_RECURRENT: ReadonlySet<string> = new Set(['heads', 'kvHeads', 'headDim', 'intermediateSize'])

/** Checks every number. `file` is for the sentence. */
export function validConfig(file: string, config: ModelConfig): ModelConfig {
  new Checks(file).config(config)
  return frozen(config)
}

class Checks {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  config(config: ModelConfig): void {
    const { heads, kvHeads, headDim, normEpsilon, ssm, rope, localRope } = config
    const isRecurrent = heads === 0 && ssm !== undefined
    for (const key of Object.keys(MOST) as (keyof typeof MOST)[]) {
      if (isRecurrent && config[key] === 0 && NONE_WHERE_RECURRENT.has(key)) continue
      this.#whole(key, config[key], MOST[key], key === 'headDim' ? 4 : 1)
    }
    if (ssm !== undefined) this.#ssm(ssm)
    if (heads > 0) this.#shared(heads, 'heads', `${kvHeads} key and value heads`, heads % kvHeads)
    this.#real("the norms' epsilon", normEpsilon, normEpsilon >= 0 && normEpsilon < 1, 'from 0 to 1')
    this.#traits(config)
    for (const each of localRope === undefined ? [rope] : [rope, localRope]) {
      // Without positions nothing is turned.
      if (ssm === undefined || each.dims !== 0) this.#rope(each, headDim)
    }
  }

  #traits(config: ModelConfig): void {
    const { window: local, experts, convTaps, attentionCap = 0, logitCap = 0 } = config
    if (local !== undefined) this.#whole('the length of a window', local.positions, MOST.contextLength)
    if (experts !== undefined) {
      this.#whole('the number of experts', experts.count, MOST_EXPERTS)
      this.#whole('the number of experts used', experts.used, experts.count)
    }
    if (convTaps !== undefined) {
      this.#taps(convTaps)
      this.#whole('the number of channels that are convolved', config.hiddenSize, MOST.hiddenSize, 32)
    }
    for (const cap of [attentionCap, logitCap]) this.#real('a soft cap', cap, cap >= 0, 'from 0')
    for (const key of ['embeddingScale', 'residualScale', 'logitScale', 'attentionScale'] as const) {
      const value = config[key] ?? 1
      this.#real(key, value, Number.isFinite(value), 'a number')
    }
  }

  #rope({ theta, dims, scaling }: RopeConfig, headDim: number): void {
    this.#whole('the part of a head that RoPE turns', dims, headDim, 2)
    this.#positive("RoPE's base", theta)
    if (scaling === undefined) return
    const lists =
      scaling.type === 'longrope'
        ? [scaling.shortFactors, scaling.longFactors]
        : scaling.type === 'factors'
          ? [scaling.factors]
          : []
    for (const factors of lists) {
      if (factors.length !== dims / 2)
        throw this.#wrong(`RoPE has ${factors.length} factors for ${dims / 2} frequencies`)
      for (const factor of factors) this.#positive('a factor of RoPE', factor)
    }
    // What is left are numbers.
    for (const [name, value] of Object.entries(scaling)) {
      if (typeof value === 'number') this.#positive(`RoPE's ${name}`, value)
    }
    if (scaling.type !== 'llama3') return
    const { lowFrequencyFactor: low, highFrequencyFactor: high } = scaling
    this.#real("RoPE's highFrequencyFactor", high, high > low, `above lowFrequencyFactor, ${low}`)
  }

  /** What the kernels of wasm/conv1d.c, scan.c and ssd.c can do. */
  #ssm({ innerSize, stateSize, convKernel, timeStepRank, heads, groups, timeStepLimit }: SsmConfig): void {
    this.#whole('the inner size of recurrent layers', innerSize, 1 << 20, 32)
    this.#whole('the state size of recurrent layers', stateSize, 1 << 12, heads > 0 ? 4 : 1)
    this.#taps(convKernel)
    const [least, most] = timeStepLimit ?? [0, 1]
    this.#real('the most of a step size', most, most > 0 && least <= most, `above 0 and the least, ${least}`)
    if (heads === 0) {
      this.#whole('the rank of step sizes', timeStepRank, 1 << 14)
      return
    }
    this.#whole('the number of recurrent heads', heads, 1 << 12)
    this.#whole('the number of groups of recurrent heads', groups, heads)
    this.#whole('the width of all groups of B and C', groups * stateSize * 2, 1 << 20, 32)
    const rest = (heads % groups) + (innerSize % heads)
    this.#shared(innerSize, 'channels', `${heads} heads in ${groups} groups`, rest)
    this.#whole('the width of a recurrent head', innerSize / heads, 256, 4)
    this.#whole('the part of the norm of a group of heads', innerSize / groups, 1 << 20, 32)
  }

  /** Inputs that the kernels' convolutions can see. */
  #taps(count: number): void {
    this.#whole('the number of inputs of a convolution', count, 4, 1, 2)
  }

  #whole(what: string, value: number, most: number, multiple = 1, least = multiple): void {
    const isGood = Number.isSafeInteger(value) && value >= least && value <= most && value % multiple === 0
    const kind = multiple === 1 ? 'whole number' : `multiple of ${multiple}`
    this.#real(what, value, isGood, `a ${kind} from ${least} to ${most}`)
  }

  #positive(what: string, value: number): void {
    this.#real(what, value, value > 0 && value < Number.POSITIVE_INFINITY, 'above 0')
  }

  #real(what: string, value: number, isGood: boolean, wanted: string): void {
    if (!isGood) throw this.#wrong(`${what} is ${value} but must be ${wanted}`)
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
