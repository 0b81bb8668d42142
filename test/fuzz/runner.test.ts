// The runner. In: a faulty target, whose inputs throw, hang, use too much memory or crash. Out: a finding for
// each of them, while all others are read.
import { expect, test } from 'vitest'
import { restoreInput } from './input.ts'
import { fuzz, readInputs, shown, smallest } from './runner.ts'

const words = (...list: readonly string[]) => list.map((word) => ({ title: word, input: { word } }))
const LIMITS = { inputMs: 1500, memoryBytes: 100 << 20 }

test('inputs that are read or rejected with a typed error are not findings', async () => {
  const tally = await readInputs('faulty', words('read', 'typed', 'read'), LIMITS)
  expect(tally).toMatchObject({ inputs: 3, outcomes: { read: 2, format: 1 }, findings: [] })
})

test('foreign errors, `internal` and unhandled rejections are findings', async () => {
  const { inputs, findings } = await readInputs('faulty', words('throw', 'internal', 'stray', 'read'), LIMITS)
  expect(inputs).toBe(4)
  expect(findings.map(({ at, fault }) => [at, fault.kind, fault.message])).toEqual([
    ['throw', 'raw', 'x is not a function'],
    ['internal', 'internal', 'a plan is wrong'],
    ['stray', 'raw', 'nobody waits for this'],
  ])
})

test.each([
  ['hang', 'hang'],
  ['never', 'hang'],
  ['crash', 'crash'],
  ['memory', 'memory'],
  ['heap', 'memory'],
])('an input of the kind %s ends its process as %s, and the next one is read', async (word, kind) => {
  const limits = word === 'heap' ? { inputMs: 30_000 } : LIMITS
  const { inputs, findings, outcomes } = await readInputs('faulty', words('read', word, 'read'), limits)
  expect(inputs).toBe(3)
  expect(findings).toMatchObject([{ at: word, fault: { kind } }])
  expect(outcomes[kind]).toBe(1)
})

test.skipIf(process.platform !== 'linux')(
  'time in which the process was suspended does not make an input late',
  async () => {
    const { inputs, ms, findings } = await readInputs('faulty', words('halted', 'read'), LIMITS)
    expect(ms).toBeGreaterThan(2000)
    expect({ inputs, findings }).toEqual({ inputs: 2, findings: [] })
  },
)

test('the same seed has the same findings, and an input can be generated alone and minimised', async () => {
  const once = await fuzz('faulty', { seed: 5, inputs: 500, ms: 60_000 })
  expect(once).toMatchObject(
    await fuzz('faulty', { seed: 5, inputs: 500, ms: 60_000 }).then(({ inputs, outcomes }) => ({
      inputs,
      outcomes,
    })),
  )
  const [found] = once.findings
  if (found === undefined) return expect.unreachable()
  expect(found.count).toBe(once.outcomes['raw'])
  const [seed = 0, index = 0] = found.at.split(':').map(Number)
  expect(await shown('faulty', seed, index)).toEqual(found.input)
  expect(restoreInput((await smallest('faulty', found)) ?? {})).toEqual({ word: 'throw' })
})

test('a target that cannot be opened is reported as a separate error', async () => {
  await expect(readInputs('nothing' as 'faulty', words('read'))).rejects.toThrow(/nothing cannot be opened/)
})
