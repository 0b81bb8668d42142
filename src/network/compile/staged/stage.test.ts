// Tests stages. In: graphs with nodes that cannot be compiled. Out: what runs elsewhere, and the work of
// planning.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../core/base/bytes.ts'
import { ProgramBudget } from '../../onnx/graph-budget.ts'
import { readModel } from '../../onnx/read-model.ts'
import { modelBytes } from '../../onnx/testing/write-model.ts'
import { planStage } from './stage.ts'

const LAYERS = 30
const I64 = 7
const scalar = (name: string, value: bigint) => ({
  name,
  type: I64,
  dims: [],
  raw: new Uint8Array(BigInt64Array.of(value).buffer),
})

/**
 * A chain of layers, and `ranges` nodes that only their evaluators can run, each read by a node of its own.
 */
async function planned(ranges: number) {
  const indices = [...Array(ranges).keys()]
  const bytes = modelBytes({
    nodes: [
      ...Array.from({ length: LAYERS }, (_, at) => ({
        op: 'Tanh',
        inputs: [at === 0 ? 'x' : `x${at}`],
        outputs: [`x${at + 1}`],
      })),
      // A step of 0 keeps passes from computing it.
      ...indices.map((at) => ({ op: 'Range', inputs: ['zero', 'one', 'zero'], outputs: [`range${at}`] })),
      ...indices.map((at) => ({ op: 'Neg', inputs: [`range${at}`], outputs: [`y${at}`] })),
    ],
    constants: [scalar('zero', 0n), scalar('one', 1n)],
    inputs: ['x'],
    outputs: [`x${LAYERS}`, ...indices.map((at) => `y${at}`)],
  })
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const inputs = graph.inputs.map(({ name }) => ({ name, type: { dtype: 'f32', dims: [4] } as const }))
  const budget = new ProgramBudget()
  const stage = planStage({ ...graph, inputs }, { weights: 'f32', budget, fallback: undefined })
  return { stage, units: budget.spentUnits }
}

test('nodes that cannot be compiled are found before the others are lowered', async () => {
  const one = await planned(1)
  const many = await planned(8)
  expect(many.stage.foreign.flatMap(({ nodes }) => nodes.map(({ op }) => op))).toEqual(Array(8).fill('Range'))
  expect(many.stage.rest?.nodes.map(({ op }) => op)).toEqual(Array(8).fill('Neg'))
  expect(many.units).toBeLessThan(1.1 * one.units)
})
