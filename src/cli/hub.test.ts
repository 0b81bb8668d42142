// Tests of hub addresses in a terminal. In: the real program, a hub of one repository, a folder of the same name. Out: which of them is meant.
import { spawn } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../store/test/file-server.ts'
import { type Ended, ended, folder, GREEDY, halfbyte, MAIN, model, path } from './test/program.ts'

let hub: FileServer
beforeAll(async () => {
  const listing = JSON.stringify([{ type: 'file', path: 'random.gguf' }])
  hub = await serveFiles({
    'owner/name/resolve/v1/random.gguf': await readFile(model),
    'api/models/owner/name/tree/v1': new TextEncoder().encode(listing),
  })
  await cp(path('folder'), path('owner/here'), { recursive: true })
})
beforeEach(() => {
  hub.requests.length = 0
})
afterAll(() => hub.close())

/** The program in the test's folder, with a hub of its own. */
const there = (...args: readonly string[]): Promise<Ended> =>
  ended(
    spawn(process.execPath, [MAIN, ...args], {
      cwd: folder,
      env: { ...process.env, HF_ENDPOINT: hub.address, HF_TOKEN: 'secret' },
      stdio: ['pipe', 'pipe', 'pipe'],
    }),
  )

describe('a name with one slash', () => {
  test('is a repository, with a file and a revision or with its only GGUF', async () => {
    hub.behaviour.token = 'secret'
    const { out } = await halfbyte('generate', model, ...GREEDY)
    for (const address of ['owner/name:random.gguf@v1', 'owner/name@v1', 'hf:owner/name@v1']) {
      expect(await there('generate', address, ...GREEDY)).toMatchObject({ code: 0, out })
    }
    expect(await there('inspect', 'owner/name@v1', '--fit', '--context', '64')).toMatchObject({ code: 0 })
    expect(await there('tokenize', 'owner/name@v1')).toMatchObject({ code: 0 })
  })

  test('is a path where there is one, unless the hub is named', async () => {
    const { out } = await halfbyte('generate', path('folder'), ...GREEDY)
    expect(await there('generate', 'owner/here', ...GREEDY)).toMatchObject({ code: 0, out })
    expect(await there('tokenize', 'owner/here')).toMatchObject({ code: 0 })
    expect(hub.requests).toEqual([])
    expect(await there('generate', 'hf:owner/here', ...GREEDY)).toMatchObject({ code: 1 })
    expect(hub.requests[0]).toBe('GET /owner/here/resolve/main/config.json')
  })

  test('that is neither says what it was taken for', async () => {
    const { code, err } = await there('inspect', 'owner/gone')
    expect(code).toBe(1)
    expect(err).toContain(
      `owner/gone was taken for a repository of ${hub.address}; write ./owner/gone for a place beside the page or a path`,
    )
    expect((await there('inspect', './owner/gone')).err).toContain('there is no file or folder ./owner/gone')
  })
})
