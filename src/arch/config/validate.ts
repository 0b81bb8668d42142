// Validate. In: hyperparameters as a file states them. Out: the same ones, frozen, or an error with the
// numbers: `architecture` for
// what cannot be, `unsupported` for what no kernel has.
import { HalfbyteError } from '../../base/errors.ts'
import { familyFile } from '../families.ts'
import type { Family, ModelConfig, RopeConfig, SsmConfig } from './config.ts'
import { unbuiltVariant } from './fields.ts'

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

/** Families with recurrent layers, and whose those are. */
const RECURRENT: Readonly<Partial<Record<Family, SsmConfig['kind']>>> = {
  mamba: 'mamba',
  mamba2: 'mamba2',
  granitehybrid: 'mamba2',
}

/** Checks every number. `file` is for the sentence. */
export function validConfig(file: string, config: ModelConfig): ModelConfig {
  const { heads, kvHeads, headDim, normEpsilon, ssm, rope, localRope } = config
  const { window: local, experts, convTaps, attentionCap = 0, logitCap = 0 } = config
  const isRecurrent = heads === 0 && ssm !== undefined
  checkParts(config)
  for (const key of Object.keys(MOST) as (keyof typeof MOST)[]) {
    if (isRecurrent && config[key] === 0 && NONE_WHERE_RECURRENT.has(key)) continue
    if (key === 'headDim') checkBuilt(key, config[key], MOST[key], 4)
    else checkWhole(key, config[key], MOST[key])
  }
  if (ssm !== undefined) checkSsm(ssm)
  if (heads > 0) checkShared(heads, 'heads', `${kvHeads} key and value heads`, heads % kvHeads)
  check('normEpsilon', normEpsilon, normEpsilon >= 0 && normEpsilon < 1, 'from 0 to 1')
  if (local !== undefined) checkWhole("a window's positions", local.positions, MOST.contextLength)
  if (experts !== undefined) {
    checkWhole('experts.count', experts.count, MOST_EXPERTS)
    checkWhole('experts.used', experts.used, experts.count)
  }
  if (convTaps !== undefined) {
    checkTaps('convTaps', convTaps)
    checkBuilt('hiddenSize, which is convolved,', config.hiddenSize, MOST.hiddenSize, 8)
  }
  for (const cap of [attentionCap, logitCap]) check('a soft cap', cap, cap >= 0, 'from 0')
  for (const key of ['embeddingScale', 'residualScale', 'logitScale', 'attentionScale'] as const) {
    const value = config[key] ?? 1
    check(key, value, Number.isFinite(value), 'a number')
  }
  for (const each of localRope === undefined ? [rope] : [rope, localRope]) {
    // Without positions nothing is turned.
    if (ssm === undefined || each.dims !== 0) checkRope(each)
  }
  return frozen(config)

  /** A pack may say anything of any family: what its graph reads must be there, and nothing of another's. */
  function checkParts({ family }: ModelConfig): void {
    const { traits } = familyFile(family)
    const parts = [
      ['heads', heads > 0, traits !== undefined],
      ['experts', experts !== undefined, traits?.mlp === 'experts'],
      ['ssm', ssm !== undefined, family in RECURRENT],
      ['ssm.heads', ssm?.kind === 'mamba2', RECURRENT[family] === 'mamba2'],
      ['convTaps', convTaps !== undefined, family === 'lfm2'],
    ] as const
    for (const [part, isThere, isDue] of parts)
      if (isThere !== isDue) throw wrong(`a ${family} ${isDue ? 'needs' : 'has no'} ${part}`)
  }

  function checkRope({ theta, dims, scaling }: RopeConfig): void {
    checkBuilt('rope.dims', dims, headDim, 2)
    checkPositive('rope.theta', theta)
    // What is neither a name nor a list is a number.
    for (const [name, value] of Object.entries(scaling ?? {})) {
      if (typeof value === 'number') checkPositive(`rope.scaling.${name}`, value)
      if (!Array.isArray(value)) continue
      if (value.length !== dims / 2) {
        throw wrong(`rope.scaling.${name} has ${value.length} factors for ${dims / 2} frequencies`)
      }
      for (const factor of value) checkPositive(`one of rope.scaling.${name}`, factor)
    }
    if (scaling?.type !== 'llama3') return
    const { lowFrequencyFactor: low, highFrequencyFactor: high } = scaling
    check('rope.scaling.highFrequencyFactor', high, high > low, `above lowFrequencyFactor, ${low}`)
  }

  /** What the kernels of wasm/recurrent/conv1d.c, scan.c and ssd.c can do. */
  function checkSsm(ssm: SsmConfig): void {
    const { innerSize, stateSize, convKernel } = ssm
    checkBuilt('ssm.innerSize', innerSize, 1 << 20, 32)
    checkBuilt('ssm.stateSize', stateSize, 1 << 12, ssm.kind === 'mamba2' ? 4 : 1)
    checkTaps('ssm.convKernel', convKernel)
    if (ssm.kind === 'mamba') {
      checkWhole('ssm.timeStepRank', ssm.timeStepRank, 1 << 14)
      return
    }
    const { heads, groups, timeStepLimit: [least, most] = [0, 1] } = ssm
    check('the most of ssm.timeStepLimit', most, most > 0 && least <= most, `above 0 and the least, ${least}`)
    checkWhole('ssm.heads', heads, 1 << 12)
    checkWhole('ssm.groups', groups, heads)
    checkBuilt('the width of all groups of B and C', groups * stateSize * 2, 1 << 20, 8)
    const rest = (heads % groups) + (innerSize % heads)
    checkShared(innerSize, 'channels', `${heads} heads in ${groups} groups`, rest)
    checkBuilt('the width of a recurrent head', innerSize / heads, 256, 4)
    checkBuilt('the part of the norm of a group of heads', innerSize / groups, 1 << 20, 32)
  }

  /** Inputs that the kernels' convolutions can see. */
  function checkTaps(key: string, count: number): void {
    checkBuilt(key, count, 4, 1, 2)
  }

  function checkWhole(key: string, value: number, most: number): void {
    const isGood = Number.isSafeInteger(value) && value > 0 && value <= most
    check(key, value, isGood, `a whole number from 1 to ${most}`)
  }

  /** Of these numbers the kernels do not have all that could be. */
  function checkBuilt(key: string, value: number, most: number, multiple: number, least = multiple): void {
    checkWhole(key, value, Number.MAX_SAFE_INTEGER)
    if (value >= least && value <= most && value % multiple === 0) return
    throw unbuiltVariant(file, `${key} ${value}`, `a multiple of ${multiple} from ${least} to ${most}`)
  }

  function checkPositive(key: string, value: number): void {
    check(key, value, value > 0 && value < Number.POSITIVE_INFINITY, 'above 0')
  }

  function check(key: string, value: number, isGood: boolean, wanted: string): void {
    if (!isGood) throw wrong(`${key} is ${value} but must be ${wanted}`)
  }

  function checkShared(count: number, of: string, to: string, rest: number): void {
    if (rest !== 0) throw wrong(`${count} ${of} cannot be shared out evenly to ${to}`)
  }

  function wrong(sentence: string): HalfbyteError {
    return new HalfbyteError(
      'architecture',
      `${file}: ${sentence}; the configuration is wrong, so fetch or convert the model again`,
      { file },
    )
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
