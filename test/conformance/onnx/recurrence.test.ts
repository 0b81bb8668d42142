// Recurrent steps that differ from Mamba's. In: a step exported by torch, with one change. Out: whether the
// translation rejects it with a reason and never guesses.
import { expect, test } from 'vitest'
import { roleOf } from '../../../src/core/arch/tensors/names.ts'
import { graphBuilder } from '../../../src/core/graph/builder.ts'
import type { Graph, Node } from '../../../src/network/onnx/ir/graph.ts'
import { HANDLERS } from '../../../src/network/onnx/raise/handlers.ts'
import { Translator } from '../../../src/network/onnx/raise/translator.ts'
import { exportedGraph } from './exported-graph.ts'

/** Constants of more than 1 KB, such as decays, stay in the file, so passes do not fold them. */
const stepOf = (name: string, inlineBytes = 1024): Promise<Graph> => exportedGraph(name, inlineBytes)

/** Changes the nodes of layer 0 that `isMeant` chooses; at least one. */
function changed(graph: Graph, isMeant: (node: Node) => boolean, change: (node: Node) => Node): Graph {
  const isOf = (node: Node) => /layers\.0/.test(node.name) && isMeant(node)
  expect(graph.nodes.some(isOf)).toBe(true)
  return { ...graph, nodes: graph.nodes.map((node) => (isOf(node) ? change(node) : node)) }
}

const withOther = (graph: Graph, from: string, op: string): Graph =>
  changed(
    graph,
    (node) => node.op === from,
    (node) => ({ ...node, op }),
  )
const reading = (name: RegExp, other: string) => (node: Node) => ({
  ...node,
  inputs: node.inputs.map((input) => (name.test(input) ? other : input)),
})
const outputs = (graph: Graph, change: Readonly<Record<string, string>>): Graph => ({
  ...graph,
  outputs: graph.outputs.map((name) => change[name] ?? name),
})

test.each<[string, (graph: Graph) => Graph, RegExp]>([
  [
    'its states are output in another order',
    (graph) => outputs(graph, { 'present_ssm.0': 'present_ssm.1', 'present_ssm.1': 'present_ssm.0' }),
    /the output present_ssm\.1 is not the step's new value of the state past_ssm\.0/,
  ],
  [
    'a state is output unchanged',
    (graph) => outputs(graph, { 'present_ssm.0': 'past_ssm.0' }),
    /the output past_ssm\.0 is not the step's new value/,
  ],
  [
    'the newest inputs are not kept',
    (graph) => outputs(graph, { 'present_conv.0': 'past_conv.0' }),
    /the output past_conv\.0 is not the step's new value/,
  ],
  [
    'a step size is not made positive',
    (graph) => withOther(graph, 'Softplus', 'Exp'),
    /this form is not supported/,
  ],
  [
    'the state of another layer is changed',
    (graph) =>
      changed(graph, ({ inputs }) => inputs.includes('past_ssm.0'), reading(/past_ssm\.0/, 'past_ssm.1')),
    /changes the state past_ssm\.1 a second time/,
  ],
  ['the decay grows', (graph) => withOther(graph, 'Neg', 'Identity'), /this form is not supported/],
  [
    'it takes several tokens at once',
    (graph) => ({
      ...graph,
      inputs: graph.inputs.map((input) =>
        input.name === 'input_ids' && input.type
          ? { ...input, type: { ...input.type, dims: ['batch_size', 'tokens'] } }
          : input,
      ),
    }),
    /tokens/,
  ],
])('a step is rejected when %s', async (_, change, message) => {
  const run = new Translator('model.onnx', change(await stepOf('mamba-rows')), HANDLERS, graphBuilder()).run()
  await expect(run).rejects.toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
})

test.each(['mamba-rows', 'mamba-channels'])('the decay of %s is read as stored in the file', async (name) => {
  const changeOf = async (inlineBytes: number) => {
    const { weights } = await new Translator(
      'model.onnx',
      await stepOf(name, inlineBytes),
      HANDLERS,
      graphBuilder(),
    ).run()
    return weights.tensors.get('layers.0.ssm_decay')?.change
  }
  expect(await changeOf(1024)).toEqual({ scale: -Math.LOG2E, exp: true })
  expect(await changeOf(65_536)).toEqual({ scale: Math.LOG2E })
})

test('the matrices that compute step sizes keep their precision in 4-bit packs', async () => {
  const { weights } = await new Translator(
    'model.onnx',
    await stepOf('mamba-rows'),
    HANDLERS,
    graphBuilder(),
  ).run()
  const names = [...weights.tensors.keys()].filter((name) => name.endsWith('.weight'))
  expect(names.filter((name) => roleOf(name) === 'table')).toEqual(
    expect.arrayContaining(['layers.0.ssm_dt.weight', 'layers.1.ssm_select_dt.weight']),
  )
})
