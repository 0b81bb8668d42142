// Short convolutions over tokens, as exported for LFM2. In: rows. Out: nodes for out(c * conv(b * x)), with
// b, c and x from one product, and the new state.
import { type NodeWriter, TYPE } from '../../../../src/network/onnx/testing/node-writer.ts'
import type { WrittenValue } from '../../../../src/network/onnx/testing/write-model.ts'

/** `operator`: CausalConvWithState. `concat`: the state and the step's own inputs in one, and Conv. */
export interface ConvolutionForm {
  readonly as: 'operator' | 'concat'
  /** Default 3. */
  readonly taps?: number
  /**
   * Columns of the state. Default: one less than taps; for `concat` as many as taps, as in LFM2's
   * repositories.
   */
  readonly columns?: number
  readonly hasBias?: boolean
  /** Activation of the operator. Default: none. */
  readonly activation?: 'none' | 'silu'
}

const CHANNELS = 1
const TOKENS = 2
/** The number that exporters write for the end of an axis. */
const END = 2 ** 53

export const convName = (layer: number): string => `past_conv.${layer}`
export const convOutput = (layer: number): string => `present_conv.${layer}`
export const tapsOf = ({ taps = 3 }: ConvolutionForm): number => taps
export const columnsOf = (form: ConvolutionForm): number =>
  form.columns ?? tapsOf(form) - (form.as === 'operator' ? 1 : 0)

export function convValue(name: string, form: ConvolutionForm, width: number): WrittenValue {
  return { name, type: TYPE.f32, dims: ['batch', width, columnsOf(form)] }
}

/** `matrix` makes a constant with these numbers of rows and columns. */
export function shortConvolution(
  g: NodeWriter,
  x: string,
  layer: number,
  form: ConvolutionForm,
  { width, matrix }: { width: number; matrix: (rows: number, columns: number, dims?: number[]) => string },
): string {
  const turn = (value: string) => g.op('Transpose', [value], { perm: { ints: [0, TOKENS, CHANNELS] } })
  const product = turn(g.op('MatMul', [x, matrix(width, 3 * width)]))
  const parts = ['b', 'c', 'x'].map((name) => `conv_${layer}_${name}`)
  g.node('Split', [product, g.ints([width, width, width])], parts, { axis: CHANNELS })
  const [before, behind, inner] = parts as [string, string, string]
  const gated = g.op('Mul', [before, inner])
  const weight = matrix(width, tapsOf(form), [width, 1, tapsOf(form)])
  const bias = form.hasBias ? [matrix(1, width, [width])] : []
  const made = form.as === 'operator' ? byOperator() : byConcat()
  return g.op('MatMul', [turn(g.op('Mul', [behind, made])), matrix(width, width)])

  function byOperator(): string {
    const inputs = [gated, weight, bias[0] ?? '', convName(layer)]
    const attributes = { ndim: 1, activation: { text: form.activation ?? 'none' } }
    const outputs = [`conv_${layer}`, convOutput(layer)]
    return g.node('CausalConvWithState', inputs, outputs, attributes, 'com.microsoft')
  }

  function byConcat(): string {
    const joined = g.op('Concat', [convName(layer), gated], { axis: TOKENS })
    const attributes = { kernel_shape: { ints: [tapsOf(form)] }, pads: { ints: [0, 0] }, group: width }
    const whole = g.op('Conv', [joined, weight, ...bias], attributes)
    const end = g.ints([END])
    const axis = g.ints([TOKENS])
    g.node('Slice', [joined, g.ints([-columnsOf(form)]), end, axis], [convOutput(layer)])
    if (columnsOf(form) === tapsOf(form) - 1) return whole
    const tokens = g.op('Gather', [g.op('Shape', [x]), g.int(1)])
    const start = g.unsqueeze(g.op('Mul', [tokens, g.int(-1)]), 0)
    return g.node('Slice', [whole, start, end, axis], [`conv_${layer}_last`])
  }
}
