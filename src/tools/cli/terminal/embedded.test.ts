// Embedded models in a terminal. In: the list, the real program. Out: whether each name on the list runs, and
// whether help and messages name them all.
import { expect, test } from 'vitest'
import { EMBEDDED } from '../models/embedded.ts'
import { halfbyte } from '../testing/program.ts'

const IDS = EMBEDDED.map(({ id }) => id)

test.each(IDS)('%s is a model that can be inspected from any folder', async (id) => {
  expect(await halfbyte('inspect', id)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^format +hbm$/m),
  })
})

test.each([
  ['the help of the program', ['--help'], 'out'],
  ['the help of a command', ['chat', '--help'], 'out'],
  ['the list of models', ['models'], 'out'],
  ['the message for a model that does not exist', ['inspect', 'embeded'], 'err'],
] as const)('%s names every embedded model', async (_what, args, stream) => {
  const told = (await halfbyte(...args))[stream].replace(/\s+/g, ' ')
  for (const id of IDS) expect(told).toMatch(new RegExp(`(^|[" ])${id}[" ]`))
})

test('the list describes the strengths of each embedded model', async () => {
  const { out } = await halfbyte('models')
  for (const { about } of EMBEDDED) expect(out).toContain(about)
})
