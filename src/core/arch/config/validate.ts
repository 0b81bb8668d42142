// Checks the hyperparameters that a file states, and freezes them. Errors name the numbers: `architecture`
// for impossible values, `unsupported` for values that the kernels do not support.
import { roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { familyFile } from '../families.ts'
import type { FamilyFile } from '../family.ts'
import type {
  DeltaConfig,
  ExpertsConfig,
  LatentConfig,
  Mamba2Config,
  ModelConfig,
  RopeConfig,
  SsmConfig,
} from './config.ts'
import { unbuiltVariant } from './fields.ts'
import { keyLayerOf, MAX_BLOCKS, MAX_STREAMS, MAX_WITHOUT_ROWS } from './layer-sizes.ts'

/**
 * No model of these families has exceeded these limits, so a header with larger numbers is almost certainly
 * wrong.
 */
const MAX = {
  hiddenSize: 1 << 17,
  layers: 1 << 10,
  heads: 1 << 10,
  kvHeads: 1 << 10,
  headDim: 512,
  intermediateSize: 1 << 20,
  vocabSize: 1 << 22,
  contextLength: 1 << 26,
} as const

/** Maximum number of experts of a layer: the router's kernel scans all of them for each row. */
const MAX_EXPERTS = 1 << 10

/** Purely recurrent models have no heads and no MLP. */
const NONE_WHERE_RECURRENT: ReadonlySet<string> = new Set(['heads', 'kvHeads', 'headDim', 'intermediateSize'])

/** True if the family may have experts and the model does. */
const mayHave = (traits: FamilyFile['traits'], experts: ExpertsConfig | undefined): boolean =>
  traits?.mayHaveExperts === true && experts !== undefined

/** Fields that only families with layers of different sizes have. */
const UNEVEN = [
  ...(['fullHeads', 'mlpSizes', 'sharedKvLayers', 'gateCutoffs'] as const),
  ...(['layerEmbedding', 'layerScales', 'valuesAreKeys'] as const),
]

/** Checks every number. `file` is named in errors. */
export function validConfig(file: string, config: ModelConfig): ModelConfig {
  const { localRope, rope, ssm } = config
  const check = new ConfigCheck(file)
  check.parts(config)
  check.sizes(config)
  if (ssm !== undefined) check.recurrence(ssm)
  check.scalars(config)
  check.options(config)
  check.layers(config)
  const { headDim, fullHeads = config } = config
  // Without positions there is no rotation.
  if (ssm === undefined || rope.dims !== 0) check.rope(rope, fullHeads.headDim)
  if (localRope !== undefined && (ssm === undefined || localRope.dims !== 0)) check.rope(localRope, headDim)
  return frozen(config)
}

/** Each method throws if it rejects a value. */
class ConfigCheck {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /**
   * A pack may claim any family, so everything that the family's graph reads must be present, and nothing
   * else.
   */
  parts(config: ModelConfig): void {
    const { family, heads, experts, latent, ssm, convTaps, alibi, xielu, activation, streams, subtracted } =
      config
    const { traits, recurrence, attention = traits !== undefined } = familyFile(family)
    const parts = [
      ['heads', heads > 0, attention],
      ['experts', experts !== undefined, traits?.mlp === 'experts' || mayHave(traits, experts)],
      ['latent attention', latent !== undefined, traits?.latent === true],
      ['ssm', ssm !== undefined, recurrence !== undefined],
      ['ssm.heads', ssm?.kind === 'mamba2', recurrence === 'mamba2'],
      ['alibi', alibi !== undefined, traits?.positions === 'alibi'],
      ['subtracted', subtracted !== undefined, traits?.isDifferential === true],
      ['sharedBlocks', config.sharedBlocks !== undefined, traits?.sharedBlocks === true],
      ['streams', streams !== undefined, traits?.streams === true],
      ['convTaps', convTaps !== undefined, /^lfm[23]/.test(family)],
      ['xielu', xielu !== undefined, (activation ?? traits?.activation) === 'xielu'],
    ] as const
    for (const [part, isThere, isDue] of parts)
      if (isThere !== isDue) throw this.#wrong(`a ${family} ${isDue ? 'needs' : 'has no'} ${part}`)
    const odd = UNEVEN.find((part) => config[part] !== undefined)
    if (odd !== undefined && traits?.isUneven !== true)
      throw this.#wrong(`${odd} does not belong to the family ${family}`)
    if (ssm !== undefined && ssm.kind !== recurrence)
      throw this.#wrong(`the family ${family} has ${recurrence} layers, not ${ssm.kind}`)
  }

  sizes(config: ModelConfig): void {
    const { heads, kvHeads, ssm, window: local, experts, latent, convTaps } = config
    const isRecurrent = heads === 0 && ssm !== undefined
    for (const key of Object.keys(MAX) as (keyof typeof MAX)[]) {
      if (isRecurrent && config[key] === 0 && NONE_WHERE_RECURRENT.has(key)) continue
      if (key === 'headDim') this.#built(key, config[key], MAX[key], 4)
      else this.#whole(key, config[key], MAX[key])
    }
    if (heads > 0) this.#shared(heads, 'heads', `${kvHeads} key and value heads`, heads % kvHeads)
    if (local !== undefined) this.#whole("a window's positions", local.positions, MAX.contextLength)
    if (experts !== undefined) this.experts(experts)
    if (latent !== undefined) this.latent(config, latent)
    if (convTaps !== undefined) {
      this.#taps('convTaps', convTaps)
      this.#built(
        'hiddenSize, the number of channels of the convolution,',
        config.hiddenSize,
        MAX.hiddenSize,
        8,
      )
    }
  }

  /** The limits of wasm/linear/route.c. */
  experts({ count, used, size = 1, shared, groups, scale = 1, epsilon = 0, limit = 1 }: ExpertsConfig): void {
    this.#whole('experts.count', count, MAX_EXPERTS)
    this.#whole('experts.used', used, count)
    this.#whole('experts.size', size, MAX.intermediateSize)
    if (shared !== undefined) this.#whole('experts.shared.size', shared.size, MAX.intermediateSize)
    this.#require('experts.scale', scale, Number.isFinite(scale), 'a number')
    this.#require('experts.epsilon', epsilon, epsilon >= 0 && epsilon < 1, 'from 0 to 1')
    this.#require('experts.limit', limit, limit >= 1 && Number.isFinite(limit), 'at least 1')
    if (groups === undefined) return
    this.#whole('experts.groups.count', groups.count, count)
    this.#shared(count, 'experts', `${groups.count} groups`, count % groups.count)
    const each = count / groups.count
    this.#whole('experts.groups.used', groups.used, groups.count)
    this.#whole('experts.groups.best', groups.best, Math.min(2, each))
    this.#require('experts.used', used, used <= groups.used * each, `at most ${groups.used * each}`)
  }

  /** `latentConfig` sets the width of heads. */
  latent({ heads, kvHeads, headDim, rope }: ModelConfig, latent: LatentConfig): void {
    const { rank, queryRank = 1, plainDim, valueDim, normEpsilon } = latent
    for (const [key, value] of Object.entries({ rank, queryRank }))
      this.#whole(`latent.${key}`, value, MAX.hiddenSize)
    for (const [key, value] of Object.entries({ plainDim, valueDim }))
      this.#whole(`latent.${key}`, value, MAX.headDim)
    const isSmall = normEpsilon >= 0 && normEpsilon < 1
    this.#require('latent.normEpsilon', normEpsilon, isSmall, 'from 0 to 1')
    const width = roundUp(Math.max(plainDim + rope.dims, valueDim), 4)
    this.#require('headDim', headDim, headDim === width, `${width}`)
    this.#require('kvHeads', kvHeads, kvHeads === heads, `${heads}`)
  }

  /** Numbers that only some models set. */
  options({
    halvedEvery,
    xielu,
    layers,
    qkvLimit,
    queryScale,
    rope,
    headDim,
    unrotatedLayers,
  }: ModelConfig): void {
    if (xielu !== undefined) {
      const isWhole = xielu.length === layers
      this.#require('the number of layers with xielu', xielu.length, isWhole, `${layers}, that of all layers`)
      for (const value of xielu.flatMap(Object.values))
        this.#require('a parameter of xielu', value, Number.isFinite(value), 'a number')
    }
    if (qkvLimit !== undefined) this.#positive('qkvLimit', qkvLimit)
    if (halvedEvery !== undefined) this.#whole('halvedEvery', halvedEvery, MAX.layers)
    if (queryScale === undefined) return
    this.#positive('queryScale.length', queryScale.length)
    this.#require('queryScale.beta', queryScale.beta, queryScale.beta >= 0 && queryScale.beta < 1e6, 'from 0')
    // The table of rotations contains this scale.
    if (rope.dims !== headDim || unrotatedLayers !== undefined) {
      throw unbuiltVariant(this.#file, 'scaled queries that are not fully rotated', 'fully rotated queries')
    }
  }

  /** Sizes that differ between layers, and parts that only some models have. */
  layers(config: ModelConfig): void {
    const { layers, heads, hiddenSize, vocabSize, fullHeads, mlpSizes, sharedKvLayers = 0 } = config
    const { gateCutoffs = [], layerEmbedding, layerScales, streams, subtracted, sharedBlocks } = config
    if (subtracted !== undefined) {
      this.#shared(config.kvHeads, 'key and value heads', 'the 2 maps of scores', config.kvHeads % 2)
      this.#built('headDim, half the width of a value,', config.headDim, MAX.headDim / 2, 4)
    }
    if (fullHeads !== undefined) {
      this.#built('fullHeads.headDim', fullHeads.headDim, MAX.headDim, 4)
      this.#whole('fullHeads.kvHeads', fullHeads.kvHeads, MAX.kvHeads)
      this.#shared(heads, 'heads', `${fullHeads.kvHeads} key and value heads`, heads % fullHeads.kvHeads)
    }
    for (const [key, list] of Object.entries({ mlpSizes, layerScales, subtracted })) {
      const isWhole = list === undefined || list.length === layers
      this.#require(`the length of ${key}`, list?.length ?? layers, isWhole, `${layers}, one for each layer`)
    }
    for (const size of mlpSizes ?? []) this.#whole('one of mlpSizes', size, MAX.intermediateSize)
    for (const scale of [...(layerScales ?? []), ...(subtracted ?? [])])
      this.#require('a scale of a layer', scale, Number.isFinite(scale), 'a number')
    for (const { deviations } of gateCutoffs)
      this.#require("a gate's deviations", deviations, Number.isFinite(deviations), 'a number')
    const isLess = Number.isInteger(sharedKvLayers) && sharedKvLayers >= 0 && sharedKvLayers < layers
    this.#require('sharedKvLayers', sharedKvLayers, isLess, `a whole number from 0 to ${layers - 1}`)
    for (let layer = layers - sharedKvLayers; layer < layers; layer++) {
      const shared = keyLayerOf(config, layer)
      if (shared < 0) throw this.#wrong(`layer ${layer} has no earlier layer to take keys and values from`)
    }
    if (sharedBlocks !== undefined) {
      this.#whole('sharedBlocks.count', sharedBlocks.count, MAX_BLOCKS)
      this.#whole('sharedBlocks.rank', sharedBlocks.rank, MAX.hiddenSize)
      for (const layer of sharedBlocks.layers)
        this.#require('one of sharedBlocks.layers', layer, layer >= 0 && layer < layers, `below ${layers}`)
    }
    if (layerEmbedding !== undefined) {
      this.#whole('layerEmbedding.size', layerEmbedding.size, MAX.hiddenSize)
      const { rows } = layerEmbedding
      this.#whole('layerEmbedding.rows', rows, MAX.vocabSize)
      const least = vocabSize - MAX_WITHOUT_ROWS
      this.#require('layerEmbedding.rows', rows, rows >= least, `at least ${least} for ${vocabSize} tokens`)
    }
    if (streams === undefined) return
    if (layerEmbedding === undefined) throw this.#wrong('a model with streams needs layerEmbedding')
    this.#whole('streams.count', streams.count, MAX_STREAMS)
    const isOne = Number.isInteger(streams.active) && streams.active >= 0 && streams.active < streams.count
    this.#require('streams.active', streams.active, isOne, `from 0 to ${streams.count - 1}`)
    this.#whole('streams.besideRank', streams.besideRank, hiddenSize)
  }

  /** The limits of the kernels in wasm/recurrent/. */
  recurrence(ssm: SsmConfig): void {
    const { innerSize, stateSize, convKernel, kind } = ssm
    this.#built('ssm.innerSize', innerSize, 1 << 20, kind === 'delta' ? 4 : 32)
    this.#built('ssm.stateSize', stateSize, 1 << 12, kind === 'mamba2' || kind === 'delta' ? 4 : 1)
    this.#taps('ssm.convKernel', convKernel)
    switch (kind) {
      case 'mamba':
        this.#whole('ssm.timeStepRank', ssm.timeStepRank, 1 << 14)
        return
      case 'mamba2':
        this.#stateSpace(ssm)
        return
      case 'delta':
        this.#delta(ssm)
        return
      case 'lru':
        this.#whole('ssm.heads', ssm.heads, 1 << 12)
        this.#shared(innerSize, 'channels', `${ssm.heads} blocks`, innerSize % ssm.heads)
        this.#built('the width of a block', innerSize / ssm.heads, 1 << 12, 4)
    }
  }

  #delta({ innerSize, stateSize, heads, groups, epsilon, betaScale }: DeltaConfig): void {
    this.#whole('ssm.heads', heads, 1 << 12)
    this.#whole('ssm.groups', groups, heads)
    this.#shared(
      innerSize,
      'channels',
      `${heads} heads, ${groups} keys`,
      (heads % groups) + (innerSize % heads),
    )
    this.#built('the width of a key', stateSize, 256, 4)
    this.#built('the width of a recurrent head', innerSize / heads, 256, 4)
    this.#built('the width of queries, keys and values', 2 * groups * stateSize + innerSize, 1 << 20, 8)
    this.#positive('ssm.betaScale', betaScale)
    this.#require('ssm.epsilon', epsilon, epsilon >= 0 && epsilon < 1, 'from 0 to 1')
  }

  #stateSpace(ssm: Mamba2Config): void {
    const { innerSize, stateSize } = ssm
    const { heads, groups, timeStepLimit: [least, most] = [0, 1] } = ssm
    this.#require(
      'the maximum of ssm.timeStepLimit',
      most,
      most > 0 && least <= most,
      `above 0 and above the minimum, ${least}`,
    )
    this.#whole('ssm.heads', heads, 1 << 12)
    this.#whole('ssm.groups', groups, heads)
    this.#built('the width of all groups of B and C', groups * stateSize * 2, 1 << 20, 8)
    const rest = (heads % groups) + (innerSize % heads)
    this.#shared(innerSize, 'channels', `${heads} heads in ${groups} groups`, rest)
    this.#built('the width of a recurrent head', innerSize / heads, 256, 1)
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
          `rope.sections is [${sections}] but must be three whole numbers that add up to ${dims / 2}`,
        )
    }
    // Every remaining value that is neither a name nor a list is a number.
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

  /** Checks the number of inputs that the convolution kernels support. */
  #taps(key: string, count: number): void {
    this.#built(key, count, 8, 1, 2)
  }

  #whole(key: string, value: number, most: number): void {
    const isGood = Number.isSafeInteger(value) && value > 0 && value <= most
    this.#require(key, value, isGood, `a whole number from 1 to ${most}`)
  }

  /** The kernels support only some values of these sizes. */
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
    if (rest !== 0) throw this.#wrong(`${count} ${of} cannot be divided evenly among ${to}`)
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
