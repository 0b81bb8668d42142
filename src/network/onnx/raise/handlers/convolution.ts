// Handlers of short convolutions over tokens, as in LFM2: a state holds the inputs of earlier steps, followed
// by those of the current step. In: a step of any number of tokens. Out: `conv1d`, whose state belongs to the
// plan.
import type { Activation, Value } from '../../../../core/graph/ir.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { intOf, intsOf, stringOf, unclaimed } from '../../ir/operator.ts'
import { proveNumbers } from '../prove.ts'
import { factorTerms, type Joined, onlyFactor, type Terms } from '../terms.ts'
import type { Handler, Translator } from '../translator.ts'
import { columnsOf, leave, lifted, set } from './recurrent.ts'

const BIAS = 2
const PAST = 3
/** Keyed by CausalConvWithState's names. */
const ACTIVATIONS: ReadonlyMap<string, Activation> = new Map([
  ['none', 'none'],
  ['silu', 'silu'],
  ['swish', 'silu'],
])

/**
 * Inputs: rows [batch, channels, tokens], weights [channels, 1, taps], bias, and the state
 * [batch, channels, taps - 1].
 */
export const causalConvolution: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const rows = value && onlyFactor(value)
  const state = t.meanings.read(node, PAST)
  if (rows?.source.of !== 'rows' || value?.rank !== 3 || rows.axes[0] !== 1) return false
  const stated = stringOf(node, 'activation', 'none')
  const activation = ACTIVATIONS.get(stated)
  if (activation === undefined)
    throw unclaimed(node, `its activation is ${stated}; only SiLU or none is supported`)
  if (intOf(node, 'ndim', 1) !== 1) throw unclaimed(node, 'it moves along more than one axis')
  if (intOf(node, 'state_window', 0) !== 0)
    throw unclaimed(node, 'it returns states of several tokens (state_window)')
  if (state?.is !== 'state') throw unclaimed(node, `its input ${PAST} is not a state from the previous step`)
  const { name } = state
  const columns = columnsOf(t, name)
  const parts = { of: 'joined', state: name, value: rows.source.value, columns } as const
  const { made, more } = convolve(t, node, parts, activation)
  if (more !== 0)
    throw unclaimed(node, `its state has ${columns} columns but its taps need ${columns - more}`)
  set(t, node, factorTerms({ of: 'rows', value: made }, rows.axes, value.rank))
  set(t, node, keptOf(t, node, parts), 1)
  return true
}

/** A depthwise Conv over concatenated inputs, padded by the preceding columns. */
export const convolution: Handler = (t, node) => {
  const value = lifted(t, node, 0)
  const factor = value && onlyFactor(value)
  if (factor?.source.of !== 'joined' || `${factor.axes}` !== '1,2') return false
  const channels = factor.source.value.shape[1]
  const isPlain =
    intOf(node, 'group', 1) === channels &&
    ['NOTSET', 'VALID'].includes(stringOf(node, 'auto_pad', 'NOTSET')) &&
    (intsOf(node, 'pads', [0, 0]) ?? []).every((each) => each === 0) &&
    ['strides', 'dilations'].every((name) => (intsOf(node, name, [1]) ?? []).every((each) => each === 1))
  if (!isPlain)
    throw unclaimed(node, `it is not an unpadded depthwise convolution of ${channels} channels with stride 1`)
  const { made, more } = convolve(t, node, factor.source, 'none')
  const source =
    more === 0 ? ({ of: 'rows', value: made } as const) : ({ of: 'late', value: made, more } as const)
  const axes = more === 0 ? factor.axes.slice(0, 1) : factor.axes
  return set(t, node, factorTerms(source, axes, 3))
}

/** The last inputs, which become the new state, or the convolution of the step itself. */
export const lastColumns: Handler = async (t, node) => {
  const value = t.meanings.read(node, 0)
  const factor = value?.is === 'terms' ? onlyFactor(value) : undefined
  if (factor === undefined || (factor.source.of !== 'joined' && factor.source.of !== 'late')) return false
  const ends = t.types.numbers(node, 2)
  const steps = hasInput(node, 4) ? t.types.numbers(node, 4) : [1]
  const [axis] = (hasInput(node, 3) ? t.types.numbers(node, 3) : undefined) ?? [0]
  const [end = 0] = ends ?? []
  if (end < END || steps?.[0] !== 1 || (axis !== factor.axes[1] && axis !== -1)) return false
  if (factor.source.of === 'joined') {
    const size = columnsOf(t, factor.source.state)
    const [start] = t.types.numbers(node, 1) ?? []
    if (start !== -size) return false
    t.meanings.set(node, 0, keptOf(t, node, factor.source))
    return true
  }
  await proveNumbers(t, node, node.inputs[1]!, 'minus the number of its tokens')
  const [batch = 1, tokens = 1] = t.idsDims
  const { dtype = 'f32' } = t.types.get(node.inputs[0]!) ?? {}
  t.types.learn(node, { dtype, dims: [batch, factor.source.value.shape[1], tokens] })
  return set(t, node, factorTerms({ of: 'rows', value: factor.source.value }, factor.axes.slice(0, 1), 3))
}

/** From this value on, the end of a Slice means the end of the axis. */
const END = 2 ** 31 - 1

function keptOf(t: Translator, node: Node, source: Joined): Terms {
  const columns = columnsOf(t, source.state)
  const made = factorTerms({ ...source, of: 'kept', columns }, [1, 2], 3)
  leave(t, node, made)
  return made
}

/** `more`: how many columns the convolution outputs before those of the step. */
function convolve(
  t: Translator,
  node: Node,
  source: Joined,
  activation: Activation,
): { readonly made: Value; readonly more: number } {
  const { value, columns } = source
  const channels = value.shape[1]
  const weight = t.weights.constant(node, 1)
  const [count, perGroup, taps = 0] = weight.dims
  const fits = weight.dims.length === 3 && count === channels && perGroup === 1
  if (!fits || taps < 2 || columns < taps - 1)
    throw unclaimed(
      node,
      `its weights of shape [${weight.dims}] do not fit ${channels} channels after ${columns} inputs from earlier steps`,
    )
  const at = `layers.${t.findings.layers++}.conv`
  const bias = hasInput(node, BIAS) ? t.weights.named(node.inputs[BIAS]!, `${at}.bias`, channels) : undefined
  const made = t.b.conv1d(
    at,
    value,
    t.weights.named(node.inputs[1]!, `${at}.weight`, channels),
    bias,
    activation,
  )
  // These inputs must become the next step's state; otherwise the graph is rejected.
  keptOf(t, node, source)
  return { made, more: columns - taps + 1 }
}
