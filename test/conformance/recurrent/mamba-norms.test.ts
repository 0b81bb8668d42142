// Conformance of norms and gates. In: outputs of the official Mamba kernels. Out: whether ours match, in both
// builds.
import { describe, test } from 'vitest'
import { ACTIVATION } from '../../../src/core/abi/constants.ts'
import { plainMachine, type Rows } from '../../../wasm/testing/machine.ts'
import { BOTH_BUILDS, expectClose, reference, silu, type Tensor } from '../testing/mamba-ops.ts'

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('norms and gates', () => {
  const EPSILON = 1e-6
  const place = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })
  /** Applies a norm to rows of six values. */
  const normed = (op: 'rmsnorm' | 'layernorm', rows: readonly number[], weights: Tensor, bias?: Tensor) =>
    BOTH_BUILDS.map((build) => {
      const machine = plainMachine(build)
      const count = rows.length / 6
      const x = machine.rows(count, 6, (row, lane) => rows[row * 6 + lane]!)
      const vector = (tensor: Tensor) => machine.rows(1, 6, (_, lane) => tensor.at(lane)).at
      const y = machine.rows(count, 6)
      machine.setStep({ sequences: [{ position: 0, rows: count }] })
      const shared = { ...place('x', x), weight: vector(weights), n: 6, ...place('y', y), eps: EPSILON }
      machine.op(
        op,
        op === 'rmsnorm' ? { ...shared, parts: 1 } : { ...shared, bias: bias ? vector(bias) : 0 },
      )
      machine.run()
      return range(count).flatMap((row) => [...machine.floats(y, row)])
    })

  test('the norm after the gate, as in Mamba-2, and the gate after the norm', () => {
    const { inputs, outputs } = reference('layer_norms', 'gated_rms_norm')
    const { x, z, w, b } = inputs as Record<string, Tensor>
    const gated = x!.values.map((value, index) => value * silu(z!.values[index]!))
    const shift = (values: readonly number[]) => values.map((value, index) => value + b!.at(index % 6))
    for (const made of normed('rmsnorm', gated, w!)) {
      expectClose(shift(made), outputs['y_norm_after']!.values)
    }
    for (const made of normed('rmsnorm', x!.values, w!)) {
      const after = shift(made).map((value, index) => value * silu(z!.values[index]!))
      expectClose(after, outputs['y_norm_before']!.values)
    }
  })

  test('RMSNorm and LayerNorm; LayerNorm also on sums and applied twice', () => {
    const rms = reference('layer_norms', 'rms_norm')
    for (const made of normed('rmsnorm', rms.inputs['x']!.values, rms.inputs['w']!)) {
      expectClose(made, rms.outputs['y']!.values)
    }
    const sumOf = (one: Tensor, two: Tensor) => one.values.map((value, index) => value + two.values[index]!)
    const before = reference('layer_norms', 'layer_norm_prenorm')
    const sum = sumOf(before.inputs['x']!, before.inputs['residual']!)
    expectClose(sum, before.outputs['residual_out']!.values)
    for (const made of normed('layernorm', sum, before.inputs['w']!, before.inputs['b'])) {
      expectClose(made, before.outputs['y']!.values)
    }
    const { inputs, outputs } = reference('layer_norms', 'layer_norm_dual_branch')
    for (const branch of ['', '1']) {
      const both = sumOf(inputs['x']!, inputs['x1']!)
      for (const made of normed('layernorm', both, inputs[`w${branch}`]!, inputs[`b${branch}`])) {
        expectClose(made, outputs[`y${branch}`]!.values)
      }
    }
  })

  test('SwiGLU', () => {
    const { inputs, outputs } = reference('swiglu', 'swiglu')
    const half = (machine: ReturnType<typeof plainMachine>, first: number) =>
      machine.rows(2, 8, (row, lane) => inputs['xy']!.at(row, first + lane))
    for (const build of BOTH_BUILDS) {
      const machine = plainMachine(build)
      const y = machine.rows(2, 8)
      machine.setStep({ sequences: [{ position: 0, rows: 2 }] })
      machine.op('swiglu', {
        ...place('gate', half(machine, 0)),
        ...place('up', half(machine, 8)),
        n: 8,
        ...place('y', y),
        activation: ACTIVATION.silu,
      })
      machine.run()
      expectClose([...machine.floats(y, 0), ...machine.floats(y, 1)], outputs['y']!.values)
    }
  })
})
