// The store on the command line. In: the real program in several processes, a hub with tiny models, kills and
// small disks. Out: what is downloaded, listed and removed.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { CHUNK_BYTES } from '../../../core/store/device/sums.ts'
import { type Ended, ended, folder, GREEDY, MAIN, model, path, testModels } from '../testing/program.ts'

testModels()

let hub: FileServer
let home: string
let count = 0
const children: ChildProcess[] = []
beforeAll(async () => {
  hub = await serveFiles({})
})
beforeEach(async () => {
  const bytes = await readFile(model)
  hub.files.clear()
  for (const name of ['m', 'n']) hub.files.set(`owner/name/resolve/main/${name}.gguf`, bytes)
  hub.requests.length = 0
  hub.behaviour = { etag: '"1"' }
  home = path(`home ${++count}`)
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => hub.close())

function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...process.env, HF_ENDPOINT: hub.address, HALFBYTE_HOME: home, HALFBYTE_NO_STORE: '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  children.push(child)
  return child
}
const there = (...args: readonly string[]): Promise<Ended> => ended(begin(args))
const ranges = () => hub.requests.filter((request) => request.includes('bytes='))

describe('a model on the hub', () => {
  test('is downloaded once, and then works without a network, by any of its names', async () => {
    const { code, out } = await there('generate', 'owner/name:m.gguf', ...GREEDY)
    expect(code).toBe(0)
    expect(out).toBe((await there('generate', model, ...GREEDY)).out)
    hub.behaviour = { status: 503 }
    hub.requests.length = 0
    for (const name of ['owner/name:m.gguf', 'owner/name', `${hub.address}owner/name/resolve/main/m.gguf`])
      expect(await there('generate', name, ...GREEDY)).toMatchObject({ code, out })
    expect(hub.requests).toEqual([])
  })

  test('is not stored with --no-store', async () => {
    const { code } = await there('generate', 'owner/name:m.gguf', ...GREEDY, '--no-store')
    expect(code).toBe(0)
    // Neither is a file on this machine.
    expect((await there('generate', model, ...GREEDY)).code).toBe(0)
    await expect(readdir(home)).rejects.toThrow()
    expect((await there('generate', 'owner/name:m.gguf', ...GREEDY, '--no-store')).code).toBe(0)
    expect(ranges()).toHaveLength(2)
  })

  test('runs from the network, with one note, if the store cannot be written', async () => {
    await writeFile(home, '')
    const { code, err } = await there('generate', 'owner/name:m.gguf', ...GREEDY)
    expect(code).toBe(0)
    const note = `note: models are not stored: ${home} cannot be written (ENOTDIR)\n`
    // A slow machine shows progress between the notes.
    const notes = (text: string) => text.match(/^note: .*\n/gm)
    expect(notes(err)).toEqual([note])
    const listed = await there('models')
    expect([listed.code, notes(listed.err)]).toEqual([0, [note]])
    const pulled = await there('pull', 'owner/name:m.gguf')
    expect([pulled.code, notes(pulled.err)]).toEqual([1, [note]])
    expect(pulled.err).toContain(
      'unsupported: owner/name:m.gguf could be read but not stored; set HALFBYTE_HOME to a folder that can be written\n',
    )
  })
})

describe('the commands of the store', () => {
  test('list, fetch and remove models', async () => {
    expect(await there('pull', 'owner/name:m.gguf')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^owner\/name:m\.gguf: [\d.]+ kB\n$/),
    })
    await there('pull', 'owner/name:n.gguf')
    const { out } = await there('models')
    expect(out).toMatch(
      /^[\d.]+ MB in .+:\nNAME +SIZE +LAST USED\nowner\/name:n\.gguf +[\d.]+ kB +just now\nowner\/name:m\.gguf +[\d.]+ kB +just now\n\nembedded /,
    )
    const [stored] = JSON.parse((await there('models', '--json')).out)
    expect(stored).toMatchObject({
      id: 'owner/name:n.gguf',
      address: `${hub.address}owner/name/resolve/main/n.gguf`,
      stored: { isComplete: true },
    })
    expect(stored.stored.bytes).toBeGreaterThan(1.5 * (await readFile(model)).length)
    expect(await there('rm', 'owner/name')).toMatchObject({
      code: 1,
      err: 'unsupported: owner/name is not stored; stored are owner/name:n.gguf, owner/name:m.gguf\n',
    })
    expect(await there('prune-store', '--keep', '1', '--dry-run')).toMatchObject({ code: 0 })
    expect((await there('prune-store', '--keep', '1')).out).toMatch(/^owner\/name:m\.gguf: .+ removed\n$/)
    expect((await there('rm', 'owner/name')).out).toMatch(/^owner\/name:n\.gguf: .+ removed\n$/)
    expect(await readdir(join(home, 'models'))).toEqual([])
  })

  test('reject what they cannot do, with the reason', async () => {
    expect(await there('pull', model)).toMatchObject({ code: 1, err: expect.stringContaining('already on') })
    expect((await there('prune-store')).code).toBe(2)
    expect((await there('prune-store', '--unused-for', '3 days')).err).toContain('a time like 12h')
    expect(await ended(begin(['rm', 'x'], { HALFBYTE_NO_STORE: '1' }))).toMatchObject({
      code: 1,
      err: 'unsupported: HALFBYTE_NO_STORE is set, so there is no store; unset it first\n',
    })
  })
})

test('serve without a model answers with the stored ones, by name', async () => {
  for (const name of ['m', 'n']) await there('pull', `owner/name:${name}.gguf`)
  const child = begin(['serve', '--port', '0', '--threads', '1', '--context', '64', '--quiet'])
  const [line] = await once(child.stdout!, 'data')
  const [, address] = /^owner\/name:n\.gguf, owner\/name:m\.gguf answer at (\S+)\n$/.exec(String(line)) ?? []
  const { data } = await (await fetch(`${address}/models`)).json()
  expect(data.map(({ id }: { id: string }) => id)).toEqual(['owner/name:n.gguf', 'owner/name:m.gguf'])
  const say = async (name: string) =>
    (
      await fetch(`${address}/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: name, prompt: 'ab', max_tokens: 4, temperature: 0 }),
      })
    ).json()
  expect(await say('owner/name:m.gguf')).toMatchObject({ model: 'owner/name:m.gguf' })
  expect((await say('owner/name:x.gguf')).error.code).toBe('model_not_found')
  expect(hub.requests.filter((request) => request.includes('m.gguf'))).toHaveLength(1)
  child.kill('SIGINT')
  expect((await ended(child)).code).toBe(130)
  const { code, err } = await ended(begin(['serve', '--lora', 'x', '--port', '0']))
  expect([code, err]).toEqual([1, expect.stringContaining('--lora applies to one model but none is given')])
})

/** A file of five chunks and a half, which is no model. */
const large = () => new Uint8Array(5.5 * CHUNK_BYTES).map((_, at) => (at * 31 + (at >> 9)) & 255)

describe('a download', () => {
  test('is made once by processes that ask for it at once', async () => {
    hub.files.set('owner/name/resolve/main/big.gguf', large())
    const pulls = await Promise.all([1, 2, 3].map(() => there('pull', 'owner/name:big.gguf')))
    expect(pulls.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(ranges()).toHaveLength(6)
    expect(new Set(ranges()).size).toBe(6)
  })

  test('continues after a kill in the middle, and nothing half-written is read', async () => {
    const bytes = large()
    hub.files.set('owner/name/resolve/main/big.gguf', bytes)
    // Every range from the fourth chunk on stalls.
    const stalled = Promise.withResolvers<void>()
    hub.behaviour = {
      etag: '"1"',
      onRequest({ requests, behaviour }) {
        if (requests.length === 4) behaviour.stalls = true
        if (requests.length === 6) stalled.resolve()
      },
    }
    const killed = begin(['pull', 'owner/name:big.gguf'])
    await stalled.promise
    killed.kill('SIGKILL')
    hub.behaviour = { etag: '"1"' }
    expect(JSON.parse((await there('models', '--json')).out)[0]).toMatchObject({
      id: 'owner/name:big.gguf',
      stored: { isComplete: false, bytes: expect.any(Number) },
    })
    hub.requests.length = 0
    expect((await there('pull', 'owner/name:big.gguf')).code).toBe(0)
    expect(ranges().length).toBeLessThan(6)
    const [file = ''] = (await readdir(join(home, 'models'))).filter((name) => name.endsWith('.bin'))
    expect(Buffer.compare(await readFile(join(home, 'models', file)), bytes)).toBe(0)
  })

  test.runIf(process.platform !== 'win32')(
    'stops at Ctrl-C, keeps what arrived, and leaves no lock',
    async () => {
      hub.files.set('owner/name/resolve/main/big.gguf', large())
      hub.behaviour = {
        etag: '"1"',
        onRequest({ requests, behaviour }) {
          behaviour.stalls = requests.length > 3
        },
      }
      const child = begin(['pull', 'owner/name:big.gguf'])
      while (hub.requests.length < 4) await new Promise((resolve) => setTimeout(resolve, 20))
      child.kill('SIGINT')
      expect(await ended(child)).toMatchObject({ code: 130, err: expect.stringMatching(/stopped\n$/) })
      expect(await readdir(join(home, 'locks'))).toEqual([])
      expect(JSON.parse((await there('models', '--json')).out)[0].stored.isComplete).toBe(false)
    },
  )

  test.runIf(process.platform !== 'win32')(
    'that fills the disk fails with storage-full and frees what it wrote',
    async () => {
      hub.files.set('owner/name/resolve/main/big.gguf', large())
      // The limit stands for a disk that reports more room than it has.
      const child = spawn(
        'sh',
        ['-c', 'ulimit -f 9000; exec "$0" "$@"', process.execPath, MAIN, 'pull', 'owner/name:big.gguf'],
        {
          env: { ...process.env, HF_ENDPOINT: hub.address, HALFBYTE_HOME: home, HALFBYTE_NO_STORE: '' },
          stdio: ['pipe', 'pipe', 'pipe'],
        },
      )
      const { code, err } = await ended(child)
      expect(code).toBe(1)
      expect(err).toMatch(
        /^storage-full: the model needs \d+ bytes of storage but the disk has no space for it; .*prune-store.*\n$/m,
      )
      expect(await readdir(join(home, 'models'))).toEqual([])
    },
  )
})
