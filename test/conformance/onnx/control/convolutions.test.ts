// Short convolutions over tokens. In: decoders with both forms in which exporters write LFM2, some with one
// change. Out: whether they match ONNX Runtime or are rejected with a reason.
import { expect, test } from 'vitest'
import type { NodeWriter } from '../../../../src/network/onnx/testing/node-writer.ts'
import type { WrittenNode } from '../../../../src/network/onnx/testing/write-model.ts'
import type { ConvolutionForm } from './convolutions.ts'
import type { DecoderForm } from './form.ts'
import { judgeDecoder } from './judge.ts'

const LENGTHS = [1, 2, 3, 9, 40]
const CONCAT: DecoderForm = { convolution: { as: 'concat' } }
const OPERATOR: DecoderForm = { convolution: { as: 'operator' } }

test.each<[string, DecoderForm]>([
  ['the operator', { ...OPERATOR, layers: 2 }],
  [
    'the operator with a bias and SiLU',
    withConv({ as: 'operator', taps: 4, hasBias: true, activation: 'silu' }),
  ],
  ['Conv, as in repositories of LFM2', { ...CONCAT, layers: 2, attention: 'group', places: 'op' }],
  [
    'Conv with a bias and exactly the columns that it needs',
    withConv({ as: 'concat', columns: 2, hasBias: true }),
  ],
  ['Conv with a longer state', withConv({ as: 'concat', taps: 3, columns: 5 })],
])("%s: the answers match ONNX Runtime's", async (_, form) => {
  expect(await judgeDecoder(form, LENGTHS)).toEqual({ is: 'equal', positions: undefined })
})

function withConv(convolution: ConvolutionForm): DecoderForm {
  return { convolution }
}

/** Changes the first node of the operator `op` whose first output's name matches `output`. */
const changed =
  (op: string, output: RegExp, change: (node: WrittenNode, g: NodeWriter) => WrittenNode) =>
  (g: NodeWriter): void =>
    g.replace(
      (node) => node.op === op && output.test(node.outputs[0] ?? ''),
      (node) => {
        const { op: kind, inputs, outputs, attributes, domain } = change(node, g)
        g.node(kind, inputs, outputs, attributes, domain as 'com.microsoft' | undefined)
      },
    )
const attribute = (op: string, attributes: NonNullable<WrittenNode['attributes']>) =>
  changed(op, /./, (node) => ({ ...node, attributes: { ...node.attributes, ...attributes } }))
const cutFrom = (output: RegExp, from: (g: NodeWriter, start: string) => string) =>
  changed('Slice', output, (node, g) => ({
    ...node,
    inputs: node.inputs.with(1, from(g, node.inputs[1] ?? '')),
  }))

test.each<[string, DecoderForm, RegExp]>([
  [
    'a step of two tokens',
    { ...CONCAT, edit: attribute('Conv', { strides: { ints: [2] } }) },
    /with stride 1/,
  ],
  ['taps apart', { ...CONCAT, edit: attribute('Conv', { dilations: { ints: [2] } }) }, /with stride 1/],
  [
    'a border',
    { ...CONCAT, edit: attribute('Conv', { pads: { ints: [0, 1] } }) },
    /unpadded depthwise convolution/,
  ],
  [
    'too few columns',
    withConv({ as: 'concat', taps: 5, columns: 2 }),
    /do not fit 16 channels after 2 inputs/,
  ],
  [
    'columns that the operator does not read',
    withConv({ as: 'operator', columns: 4 }),
    /has 4 columns but its taps need 2/,
  ],
  [
    'states of several tokens',
    { ...OPERATOR, edit: attribute('CausalConvWithState', { state_window: 2 }) },
    /state_window/,
  ],
  [
    'another activation',
    { ...OPERATOR, edit: attribute('CausalConvWithState', { activation: { text: 'gelu' } }) },
    /its activation is gelu/,
  ],
  [
    'a state of fewer inputs',
    { ...CONCAT, edit: cutFrom(/present_conv/, (g) => g.ints([-2])) },
    /\(Slice\): it reads .* this form is not supported/,
  ],
  [
    'rows of the previous step',
    { ...CONCAT, edit: cutFrom(/_last/, (g, start) => g.op('Sub', [start, g.ints([1])])) },
    /but minus the number of its tokens are required/,
  ],
  [
    'a state that does not change',
    {
      ...CONCAT,
      edit: changed('Slice', /present_conv/, (node) => ({
        ...node,
        op: 'Identity',
        inputs: ['past_conv.0'],
      })),
    },
    /the output present_conv\.0 is not the step's new value of the state past_conv\.0/,
  ],
])('%s are rejected by name', async (_, form, why) => {
  expect(await judgeDecoder(form, LENGTHS)).toEqual({ is: 'refused', why: expect.stringMatching(why) })
})
