// Positions along a resized axis. In: a scale that f32 rounds. Out: the positions that onnxruntime chooses.
import { expect, test } from 'vitest'
import type { Node } from '../../ir/graph.ts'
import { tapsOf } from './resize.ts'

const TEXTS = { mode: 'nearest', nearest_mode: 'round_prefer_floor' }

test.each(['half_pixel', 'pytorch_half_pixel'])(
  '%s divides in f32, so a position halfway between two others rounds down',
  (mode) => {
    const attributes = new Map(
      Object.entries({ ...TEXTS, coordinate_transformation_mode: mode }).map(([name, value]) => [
        name,
        { kind: 'string', value },
      ]),
    )
    const node = { op: 'Resize', attributes } as unknown as Node
    // 11.5 / 2.3 - 0.5 is 4.5.
    const taps = tapsOf(node, { from: 7, to: 16, scale: Math.fround(2.3) }, () => undefined)
    expect(taps.index[0]![11]).toBe(4)
  },
)
