// Conformance of the scan, the decode step and the convolution. In: outputs of the official Mamba kernels.
// Out: whether ours match, for whole chunks and single steps.

import { describe, expect, test } from 'vitest'
import { ACTIVATION } from '../../../src/core/abi/constants.ts'
import { plainMachine, type Rows } from '../../../wasm/testing/machine.ts'
import { panels, setStep, slab } from '../../../wasm/testing/recurrent.ts'
import { fixture } from '../../helpers/fixture.ts'
import {
  BOTH_BUILDS,
  type Case,
  type Channel,
  CUTS,
  caseOf,
  expectClose,
  json,
  reference,
  scanChannel,
  Tensor,
} from '../testing/mamba-ops.ts'

const place = (name: string, rows: Rows) => ({ [name]: rows.at, [`${name}_stride`]: rows.stride })

/** Runs every channel in both builds, in one step and row by row. */
function expectChannel(
  channel: Channel,
  y: readonly number[],
  state?: readonly number[],
  made: 'f32' | 'bf16' | 'f16' = 'f32',
): void {
  for (const build of BOTH_BUILDS) {
    for (const cut of CUTS) {
      const ours = scanChannel(build, channel, cut)
      expectClose(ours.y, y, made)
      if (state !== undefined) expectClose(ours.state, state, made)
    }
  }
}

/**
 * B or C of one channel: [channel][state], [batch][state][row], or [batch][group][state][row] with channels
 * dealt to groups.
 */
function between(tensor: Tensor, channels: number, rows: number, batch: number, channel: number): number[][] {
  const axes = tensor.shape.length
  const group = axes === 4 ? Math.floor(channel / Math.floor(channels / tensor.shape[1]!)) : 0
  const states = axes === 2 ? tensor.shape[1]! : tensor.shape.at(-2)!
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: states }, (_, n) => {
      if (axes === 2) return tensor.at(channel, n)
      return axes === 3 ? tensor.at(batch, n, row) : tensor.at(batch, group, n, row)
    }),
  )
}

interface How {
  /** Step sizes pass through softplus. */
  readonly softplus: boolean
  readonly made?: 'f32' | 'bf16' | 'f16'
  /** Number of channels for which the official kernel reads the right data; default: all. */
  readonly channels?: number
}

/** The official selective_scan_fn: u, delta and z are [batch][channel][row]. */
function expectScan({ inputs, outputs }: Case, { softplus, made, channels }: How): void {
  const { u, delta, A, B, C, D, z } = inputs as Record<string, Tensor>
  const bias = inputs['delta_bias'] ?? inputs['dt_bias']
  const [batches = 0, all = 0, rows = 0] = u!.shape
  const y = outputs['y'] ?? outputs['out']
  const last = outputs['last_state'] ?? outputs['state']
  for (let batch = 0; batch < batches; batch++) {
    for (let channel = 0; channel < (channels ?? all); channel++) {
      const dt = delta!.line(batch, channel).map((value) => value + (bias?.at(channel) ?? 0))
      const b = between(B!, all, rows, batch, channel)
      expectChannel(
        {
          u: u!.line(batch, channel),
          ...(softplus ? { dt } : { steps: dt }),
          z: z?.line(batch, channel),
          b,
          c: between(C!, all, rows, batch, channel),
          a: A!.line(channel),
          skip: D?.at(channel),
        },
        y!.line(batch, channel),
        last?.line(batch, channel),
        made,
      )
    }
  }
}

describe('selective scan', () => {
  const cases: { description: string; inputs: Record<string, Tensor>; outputs: Record<string, Tensor> }[] =
    json('selective_scan_reference.json')
  test.each(cases)('another implementation: $description', (stored) => {
    const { inputs, outputs } = caseOf(stored)
    const [batches = 0, channels = 0, rows = 0] = inputs['u']!.shape
    /**
     * In these cases, B and C are [channel][state], [batch][channel][state], or have the rows as last axis.
     */
    const per = (tensor: Tensor, batch: number, channel: number) =>
      Array.from({ length: rows }, (_, row) =>
        Array.from({ length: inputs['A']!.shape[1]! }, (_, n) => {
          if (tensor.shape.length === 2) return tensor.at(channel, n)
          return tensor.shape.length === 3 ? tensor.at(batch, channel, n) : tensor.at(batch, channel, n, row)
        }),
      )
    for (let batch = 0; batch < batches; batch++) {
      for (let channel = 0; channel < channels; channel++) {
        const line = (name: string) => inputs[name]!.line(batch, channel)
        const dt = line('delta').map((value) => value + inputs['dt_bias']!.at(channel))
        const b = per(inputs['B']!, batch, channel)
        const c = per(inputs['C']!, batch, channel)
        expectChannel(
          {
            u: line('u'),
            dt,
            z: line('z'),
            b,
            c,
            a: inputs['A']!.line(channel),
            skip: inputs['D']!.at(channel),
          },
          outputs['y']!.line(batch, channel),
          outputs['state']!.line(batch, channel),
        )
      }
    }
  })

  test.each([
    ['selective_scan_case1.json', true],
    ['selective_scan_grouped.json', false],
  ] as const)('another implementation: %s', (name, softplus) => {
    expectScan(caseOf(json(name)), { softplus })
  })

  test.each([
    ['minimal', { softplus: false }],
    ['minimal_bf16', { softplus: false, made: 'bf16' }],
    ['minimal_fp16', { softplus: false, made: 'f16' }],
    ['time_varying_3d', { softplus: true }],
    // Three channels in two groups of one: for the third channel, the official kernel reads past the second
    // group.
    ['grouped_time_varying', { softplus: true, channels: 2 }],
  ] as const)('the official kernel: %s', (name, how) => {
    expectScan(reference('selective_scan', name), how)
  })

  test('the official kernel with all options; if B is constant, its state omits B', () => {
    const { inputs, outputs } = reference('selective_scan', 'full')
    const { shape, values } = outputs['last_state']!
    const [, channels = 0, states = 0] = shape
    const whole = values.map((value, index) => {
      const channel = Math.floor(index / states) % channels
      const n = index % states
      return value * inputs['B']!.at(channel, n)
    })
    const last = new Tensor(shape, whole)
    expectScan({ inputs, outputs: { ...outputs, last_state: last } }, { softplus: true })
  })

  test('512 rows', () => {
    const floats = (name: string) => npyFloats(fixture('mamba-ops/mamba_selective_scan_fwd_ref.npz'), name)
    const u = floats('u')
    const delta = floats('delta')
    const [a = 0, b = 0, c = 0, skip = 0, bias = 0] = ['A', 'B', 'C', 'D', 'delta_bias'].map(
      (name) => floats(name)[0],
    )
    expect(u.length).toBe(512)
    const steps = delta.map((value) => value + bias)
    expectChannel({ u, steps, b: u.map(() => [b]), c: u.map(() => [c]), a: [a], skip }, floats('out'))
  })
})

/** The name of an entry in its local header, after the 30 bytes of fixed length. */
const nameAt = (zip: Buffer, name: string): number => {
  for (
    let at = zip.indexOf('PK\x03\x04', 0, 'latin1');
    at >= 0;
    at = zip.indexOf('PK\x03\x04', at + 4, 'latin1')
  ) {
    if (zip.subarray(at + 30, at + 30 + zip.readUInt16LE(at + 26)).toString() === `${name}.npy`)
      return at + 30
  }
  throw new RangeError(`there is no ${name}`)
}

/** An array of f32 in a zip of uncompressed arrays. */
function npyFloats(zip: Buffer, name: string): number[] {
  const start = zip.indexOf('\x93NUMPY', nameAt(zip, name), 'latin1')
  const header = zip.subarray(start + 10, start + 10 + zip.readUInt16LE(start + 8)).toString('latin1')
  expect(header).toContain("'<f4'")
  const length = Number(/'shape': \((\d+),\)/.exec(header)?.[1])
  const data = start + 10 + header.length
  return Array.from({ length }, (_, index) => zip.readFloatLE(data + 4 * index))
}

describe('one decode step from a state', () => {
  test('of Mamba', () => {
    const { inputs, outputs } = reference('selective_state_update', 'baseline_full')
    const read = (name: string, ...at: number[]) => inputs[name]!.at(...at)
    for (let batch = 0; batch < 2; batch++) {
      for (let channel = 0; channel < 3; channel++) {
        expectChannel(
          {
            u: [read('x', batch, channel)],
            dt: [read('dt', batch, channel) + read('dt_bias', channel)],
            z: [read('z', batch, channel)],
            b: [inputs['B']!.line(batch)],
            c: [inputs['C']!.line(batch)],
            a: inputs['A']!.line(channel),
            skip: read('D', channel),
            state: inputs['state']!.line(batch, channel),
          },
          [outputs['y']!.at(batch, channel)],
          outputs['updated_state']!.line(batch, channel),
        )
      }
    }
  })

  test('of two groups of heads, with step sizes used unchanged', () => {
    const { inputs, outputs } = reference('selective_state_update', 'grouped')
    for (const [batch, head, channel] of [0, 1].flatMap((b) =>
      [0, 1].flatMap((h) => [0, 1, 2].map((c) => [b, h, c] as const)),
    )) {
      expectChannel(
        {
          u: [inputs['x']!.at(batch, head, channel)],
          steps: [inputs['dt']!.at(batch, head, channel) + inputs['dt_bias']!.at(head, channel)],
          b: [inputs['B']!.line(batch, head)],
          c: [inputs['C']!.line(batch, head)],
          a: inputs['A']!.line(head, channel),
          state: inputs['state']!.line(batch, head, channel),
        },
        [outputs['y']!.at(batch, head, channel)],
        outputs['updated_state']!.line(batch, head, channel),
      )
    }
  })
})

describe('causal convolution', () => {
  test.each(
    [0, 1].flatMap((batch) =>
      BOTH_BUILDS.flatMap((build) =>
        (['channels_first_silu', 'channels_last_identity'] as const).map((name) => ({ name, batch, build })),
      ),
    ),
  )('$name, batch $batch, $build', ({ name, batch, build }) => {
    const { inputs, outputs } = reference('dw_causal_conv', name)
    const isFirst = name === 'channels_first_silu'
    const read = (tensor: Tensor, row: number, channel: number) =>
      isFirst ? tensor.at(batch, channel, row) : tensor.at(batch, row, channel)
    for (const cut of CUTS) {
      const machine = plainMachine(build)
      const w = panels(machine, 8, 4, (channel, tap) => inputs['weight']!.at(channel, tap), 32)
      const bias = inputs['bias']?.values
      const b = bias && machine.rows(1, 32, (_, lane) => bias[lane] ?? 0)
      const state = slab(machine, 32 * 3)
      let first = 0
      for (const count of cut(5)) {
        const input = machine.rows(count, 32, (row, lane) =>
          lane < 8 ? read(inputs['x']!, first + row, lane) : 0,
        )
        const y = machine.rows(count, 32)
        setStep(machine, [count], [state])
        machine.op('conv1d', {
          ...place('x', input),
          w,
          bias: b?.at ?? 0,
          channels: 32,
          taps: 4,
          group: 0,
          state_offset: 0,
          ...place('y', y),
          q: 0,
          activation: isFirst ? ACTIVATION.silu : ACTIVATION.none,
        })
        machine.run()
        machine.ops.length = 0
        for (let row = 0; row < count; row++) {
          const right = Array.from({ length: 8 }, (_, lane) => read(outputs['y']!, first + row, lane))
          expectClose([...machine.floats(y, row).slice(0, 8)], right)
        }
        first += count
      }
    }
  })
})
