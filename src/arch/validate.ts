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

/** Models of recurrent layers alone have no heads and no MLP. */
const NONE_WHERE_RECURRENT: ReadonlySet<string> = new Set(['heads', 'kvHeads', 'headDim', 'intermediateSize'])

/** Checks every number. `file` is for the sentence. */
export function validConfig(file: string, config: ModelConfig): ModelConfig {
  const { heads, kvHeads, headDim, rope, normEpsilon } = config
  for (const key of Object.keys(MOST) as (keyof typeof MOST)[]) {
    const value = config[key]
    if (value === 0 && NONE_WHERE_RECURRENT.has(key) && config.heads === 0 && config.ssm !== undefined)
      continue
    if (Number.isSafeInteger(value) && value >= 1 && value <= MOST[key]) continue
    throw wrong(file, `${key} is ${value} but must be a whole number from 1 to ${MOST[key]}`)
  }
  if (config.ssm !== undefined) checkSsm(file, config.ssm)
  if (heads > 0 && heads % kvHeads !== 0) {
    throw wrong(file, `${heads} heads cannot be shared out evenly to ${kvHeads} key and value heads`)
  }
  if (headDim % 4 !== 0)
    throw wrong(file, `a head has ${headDim} numbers but the kernels take multiples of 4`)
  if (!(normEpsilon >= 0 && normEpsilon < 1)) {
    throw wrong(file, `the norms' epsilon is ${normEpsilon} but must be from 0 to 1`)
  }
  checkTraits(file, config)
  const frozen = (each: RopeConfig): RopeConfig => {
    // Without positions nothing is turned.
    if (config.ssm === undefined || each.dims !== 0) checkRope(file, each, headDim)
    return Object.freeze({ ...each, scaling: each.scaling && Object.freeze(each.scaling) })
  }
  const localRope = config.localRope && frozen(config.localRope)
  const [window, experts] = [config.window && Object.freeze(config.window), config.experts]
  return Object.freeze({
    ...config,
    rope: frozen(rope),
    ...(localRope && { localRope }),
    ...(window && { window }),
    ...(experts && { experts: Object.freeze(experts) }),
  })
}

/** Most experts of a layer: the router's kernel looks through all of them for each row. */
const MOST_EXPERTS = 1 << 10

function checkTraits(file: string, config: ModelConfig): void {
  const { window: local, experts, attentionCap = 0, logitCap = 0 } = config
  if (local !== undefined && !(Number.isSafeInteger(local.positions) && local.positions >= 1)) {
    throw wrong(file, `a window has ${local.positions} positions but must have 1 or more`)
  }
  if (experts !== undefined) {
    const { count, used } = experts
    const isWhole = Number.isSafeInteger(count) && Number.isSafeInteger(used)
    if (!isWhole || used < 1 || used > count || count > MOST_EXPERTS) {
      throw wrong(
        file,
        `${used} of ${count} experts are used but must be 1 to all of at most ${MOST_EXPERTS}`,
      )
    }
  }
  const { convTaps } = config
  if (convTaps !== undefined && !(Number.isSafeInteger(convTaps) && convTaps >= 2 && convTaps <= 4)) {
    throw wrong(file, `a convolution sees ${convTaps} inputs but the kernels take 2 to 4`)
  }
  if (convTaps !== undefined && config.hiddenSize % 32 !== 0) {
    throw wrong(file, `${config.hiddenSize} channels are convolved but the kernels take multiples of 32`)
  }
  if (!(attentionCap >= 0 && logitCap >= 0)) {
    throw wrong(file, `the soft caps are ${attentionCap} and ${logitCap} but cannot be below 0`)
  }
  for (const key of ['embeddingScale', 'residualScale', 'logitScale', 'attentionScale'] as const) {
    const value = config[key] ?? 1
    if (!Number.isFinite(value)) throw wrong(file, `${key} is ${value} but must be a number`)
  }
}

function checkRope(file: string, { theta, dims, scaling }: RopeConfig, headDim: number): void {
  if (!Number.isSafeInteger(dims) || dims < 2 || dims % 2 !== 0 || dims > headDim) {
    throw wrong(file, `RoPE turns ${dims} numbers of a head but must turn an even count from 2 to ${headDim}`)
  }
  checkPositive(file, "RoPE's base", theta)
  if (scaling === undefined) return
  if (scaling.type === 'longrope') {
    const { shortFactors, longFactors, magnitude } = scaling
    for (const factors of [shortFactors, longFactors]) checkFactors(file, factors, dims)
    checkPositive(file, "RoPE's magnitude", magnitude)
    return
  }
  if (scaling.type === 'factors') {
    checkFactors(file, scaling.factors, dims)
    return
  }
  checkPositive(file, "RoPE's factor", scaling.factor)
  if (scaling.type === 'linear') return
  if (scaling.type === 'yarn') {
    const { originalContextLength, fast, slow, magnitude } = scaling
    checkPositive(file, "RoPE's original context length", originalContextLength)
    checkPositive(file, "RoPE's magnitude", magnitude)
    checkPositive(file, 'the least turns of pairs that stay', fast)
    checkPositive(file, 'the most turns of pairs that are divided', slow)
    return
  }
  const { lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength } = scaling
  checkPositive(file, "RoPE's original context length", originalContextLength)
  checkPositive(file, "RoPE's low frequency factor", low)
  if (!(high > low && high < Number.POSITIVE_INFINITY)) {
    throw wrong(file, `RoPE's high frequency factor is ${high} but must be above the low one, ${low}`)
  }
}

/** What the kernels of wasm/conv1d.c, scan.c and ssd.c can do. */
function checkSsm(file: string, ssm: SsmConfig): void {
  const { innerSize, stateSize, convKernel, timeStepRank, heads, groups } = ssm
  const check = (what: string, value: number, multiple: number, most: number) => {
    if (Number.isSafeInteger(value) && value >= multiple && value <= most && value % multiple === 0) return
    throw wrong(file, `${what} is ${value} but must be a multiple of ${multiple} from ${multiple} to ${most}`)
  }
  check('the inner size of recurrent layers', innerSize, 32, 1 << 20)
  check('the state size of recurrent layers', stateSize, heads > 0 ? 4 : 1, 1 << 12)
  if (!(convKernel >= 2 && convKernel <= 4 && Number.isSafeInteger(convKernel))) {
    throw wrong(file, `a convolution sees ${convKernel} inputs but the kernels take 2 to 4`)
  }
  if (heads === 0) {
    check('the rank of step sizes', timeStepRank, 1, 1 << 14)
    return
  }
  check('the number of recurrent heads', heads, 1, 1 << 12)
  check('the number of groups of recurrent heads', groups, 1, heads)
  check('the width of all groups of B and C', groups * stateSize * 2, 32, 1 << 20)
  if (heads % groups !== 0 || innerSize % heads !== 0) {
    throw wrong(
      file,
      `${innerSize} channels cannot be shared out evenly to ${heads} heads in ${groups} groups`,
    )
  }
  check('the width of a recurrent head', innerSize / heads, 4, 256)
  check('the part of the norm of a group of heads', innerSize / groups, 32, 1 << 20)
}

function checkFactors(file: string, factors: readonly number[], dims: number): void {
  if (factors.length !== dims / 2) {
    throw wrong(file, `RoPE has ${factors.length} factors for ${dims / 2} frequencies`)
  }
  for (const factor of factors) checkPositive(file, 'a factor of RoPE', factor)
}

function checkPositive(file: string, what: string, value: number): void {
  if (value > 0 && value < Number.POSITIVE_INFINITY) return
  throw wrong(file, `${what} is ${value} but must be above 0`)
}

function wrong(file: string, sentence: string): HalfbyteError {
  return new HalfbyteError(
    'architecture',
    `${file}: ${sentence}; the configuration is wrong, so fetch or convert the model again`,
    { file },
  )
}
