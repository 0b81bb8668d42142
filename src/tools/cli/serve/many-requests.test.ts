// A short form of the soak of the server (npm run soak:serve): three rounds of twenty requests at a time
// through OpenAI's client, with aborts in the middle, on a server in its own process.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { Watched } from '../../../../test/soak/serve/watched.ts'

test('twenty concurrent requests get the same answers as single ones, and leave nothing behind', async () => {
  const watched = await Watched.start()
  const random = new Random(31)
  for (let round = 0; round < 3; round++)
    expect((await watched.round(random, 20)).filter(({ holds }) => !holds)).toEqual([])
  expect(await watched.ended()).toMatchObject({ holds: true })
  expect(Object.keys(watched.counts).filter((name) => name.includes('aborted'))).not.toEqual([])
  await watched.close()
})
