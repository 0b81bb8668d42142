// Evaluator of CausalConvWithState, ONNX's and ONNX Runtime's. In: rows, weights, a bias, the newest inputs
// of earlier steps. Out: each channel's sums over its current and earlier inputs, and the newest inputs.
import { type Evaluation, given, stringOf, unclaimed, unfit, wants } from '../ir/operator.ts'
import { reader, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { sigmoid } from './activations.ts'

export function evaluateCausalConvolution(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const x = given(context, 0)
  const weights = given(context, 1)
  const bias = inputs[2]
  const past = inputs[3]
  const [batch = 0, channels = 0, tokens = 0] = x.dims
  const taps = weights.dims[2] ?? 0
  const kept = taps - 1
  const isFit =
    x.dims.length === 3 &&
    `${weights.dims}` === `${[channels, 1, taps]}` &&
    (past === undefined || `${past.dims}` === `${[batch, channels, kept]}`)
  if (!isFit) throw unfit(node, `weights of shape [${weights.dims}] do not fit its input [${x.dims}]`)
  const activation = stringOf(node, 'activation', 'none')
  const isSilu = activation === 'silu' || activation === 'swish'
  if (activation !== 'none' && !isSilu) throw unclaimed(node, `its activation is ${activation}`)
  const [own, weight, shift, before] = [x, weights, bias, past].map((each) => each && reader(each))
  // Reads the inputs of earlier steps, followed by this step's.
  const inputAt = (line: number, at: number): number =>
    at < kept ? (before?.(line * kept + at) ?? 0) : own!(line * tokens + at - kept)
  const made = zeros(x.dtype, x.dims)
  const present = zeros(x.dtype, [batch, channels, kept])
  const write = writer(made)
  const keep = writer(present)
  for (let line = 0; line < batch * channels; line++) {
    const channel = line % channels
    for (let token = 0; token < tokens; token++) {
      let sum = shift?.(channel) ?? 0
      for (let tap = 0; tap < taps; tap++) sum += weight!(channel * taps + tap) * inputAt(line, token + tap)
      write(line * tokens + token, isSilu ? sum * sigmoid(sum) : sum)
    }
    for (let at = 0; at < kept; at++) keep(line * kept + at, inputAt(line, tokens + at))
  }
  return [made, wants(node, 1) ? present : undefined]
}
