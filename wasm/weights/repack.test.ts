// Tests the moving of rows into panels. In: random blocks of each type. Out: the bits of the definition.
import { expect, test } from 'vitest'
import { STORED_TYPE } from '../../src/core/abi/constants.ts'
import { ENCODINGS, type Encoding, matrixBytes } from '../../src/core/abi/encodings.ts'
import { BLOCKS } from '../../src/core/formats/dtypes.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { compare, type Machine } from '../testing/machine.ts'

const PAIRS: readonly (readonly [keyof typeof STORED_TYPE, Encoding])[] = [
  ['Q4_0', 'w4_g32'],
  ['Q4_0', 'w4m_g32'],
  ['Q4_0', 'w8_g32'],
  ['Q4_1', 'w4m_g32'],
  ['Q5_0', 'w8_g32'],
  ['Q8_0', 'w8_g32'],
  ['Q4_K', 'w4m_g32'],
  ['Q5_K', 'w8_g32'],
  ['Q6_K', 'w8_g32'],
]
const ROWS = 32
const K = 512

test.each(PAIRS)('%s into %s: the panels of the definition, and nothing beyond them', (type, encoding) => {
  const lay = (machine: Machine) => {
    const random = randomFrom(3)
    const { elements, bytes } = BLOCKS[type]
    const length = (ROWS * K * bytes) / elements
    const from = machine.allocate(length)
    for (let at = from; at < from + length; at++) machine.u8[at] = random() * 256
    // Finite scales, some of them 0 or subnormal.
    const halves = type === 'Q6_K' ? [208] : type.endsWith('K') || type === 'Q4_1' ? [0, 2] : [0]
    for (let block = from; block < from + length; block += bytes)
      for (const half of halves) machine.u8[block + half + 1]! &= random() < 0.1 ? 0x83 : 0xbf
    const to = machine.allocate(matrixBytes(encoding, ROWS, K))
    const faults = machine.words([0])
    const stored = STORED_TYPE[type]
    const { code } = ENCODINGS[encoding]
    machine.setStep({ sequences: [{ position: 0, rows: 1 }] })
    machine.op('repack', { from, to, k: K, panels: ROWS / 8, stored, encoding: code, faults })
  }
  expect(compare(lay).difference).toBeUndefined()
})
