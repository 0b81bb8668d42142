// The catalogue on the command line. In: the real program, a fake hub with a tiny model at every URL. Out:
// whether each name resolves to a model that answers, and what is printed before the download.
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LLAMA_1B } from '../../../../lab/bench/shapes.ts'
import { catalogueFiles } from '../../../../test/conformance/testing/catalogue-files.ts'
import { hollowModel } from '../../../../test/conformance/testing/writers/hollow-model.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { CATALOGUE } from '../../../core/store/catalogue.ts'
import { hubUrl, parseHubAddress } from '../../../core/store/hub.ts'
import { type Ended, ended, folder, halfbyte, MAIN, testFolder } from '../testing/program.ts'

testFolder()

let hub: FileServer
beforeAll(async () => {
  hub = await serveFiles(await catalogueFiles())
})
afterAll(() => hub.close())

const there = (args: readonly string[], input = ''): Promise<Ended> =>
  ended(
    spawn(process.execPath, [MAIN, ...args], {
      cwd: folder,
      env: { ...process.env, HF_ENDPOINT: hub.address },
      stdio: ['pipe', 'pipe', 'pipe'],
    }),
    input,
  )

/** Too large for 32-bit addresses with 8-bit weights; with 4-bit weights it fits. */
const HUGE = { hiddenSize: 4096, intermediateSize: 14336, layers: 24, headDim: 128, vocabSize: 1024 }
const SHORT = ['--temperature', '0', '--max-tokens', '16', '--threads', '1', '--context', '256'] as const

describe.each(CATALOGUE)('$id', (model) => {
  test('is announced with size, licence and speed, downloaded at its revision, and answers', async () => {
    const { code, out, err } = await there(['chat', model.id, ...SHORT], 'ab\n')
    expect(err).toMatch(/ to download, .+\. It fits \([\d.]+ MB of memory\); about [\de.+]+ tokens\/s\.\n$/)
    expect(err).toContain(`${model.title}: `)
    expect(err).toContain(model.licence)
    expect(code).toBe(0)
    expect(out.trim()).not.toBe('')
    const { repo, revision } = parseHubAddress(model.address)!
    const asked = hub.requests.filter((request) => request.startsWith(`GET /${repo}/`))
    expect(asked.length).toBeGreaterThan(0)
    for (const request of asked) expect(request).toContain(`/resolve/${revision}/`)
  }, 120_000)
})

test('the repository’s name alone selects the same file', async () => {
  const { repo, file } = parseHubAddress(CATALOGUE[0]!.address)!
  hub.requests.length = 0
  expect(await there(['inspect', repo])).toMatchObject({ code: 0 })
  expect(hub.requests.every((request) => request.includes(`/${file}`))).toBe(true)
}, 60_000)

test('a model that does not fit is rejected before its download, with advice', async () => {
  const { address } = CATALOGUE[0]!
  const path = new URL(hubUrl(parseHubAddress(address)!)).pathname.slice(1)
  const { header, size } = hollowModel({ ...LLAMA_1B, ...HUGE }, 'Q8_0')
  const file = new Uint8Array(header.length + (8 << 20))
  file.set(header)
  const before = hub.files.get(path)!
  hub.files.set(path, file)
  hub.behaviour = { only: path, liesBy: size - file.length }
  const { code, err, out } = await there(['chat', 'smollm2-135m'], 'ab\n')
  hub.files.set(path, before)
  hub.behaviour = {}
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(
    /^out-of-memory: SmolLM2 135M needs 6\d{3}.* MB of memory, but [\d.]+ MB are available; add --weights w4/,
  )
}, 60_000)

test('halfbyte models lists them all', async () => {
  const { code, out } = await halfbyte('models')
  expect(code).toBe(0)
  for (const { id, licence, address } of CATALOGUE)
    for (const text of [id, licence, address]) expect(out).toContain(text)
  expect(out.match(/compared with llama\.cpp in \w+/g)).toEqual(['compared with llama.cpp in Q4_1'])
}, 30_000)
