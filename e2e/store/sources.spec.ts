// Sources other than files on a server. In: a model's bytes in the page, in every form. Out: the same text
// from each, and advice for the rejected forms.
import { expect } from '@playwright/test'
import { bertBytes } from '../../lab/bench/graphs/bert.ts'
import { GOLDEN, GOLDEN_OPTIONS, GOLDEN_PROMPT, goldenFile } from '../../test/conformance/testing/golden.ts'
import { TEXT, test } from '../golden-server.ts'
import { openLibrary } from '../library-site.ts'

test('a model loads from a blob URL, a Blob and bytes', async ({ page, site }) => {
  const model = await site.add(await goldenFile(GOLDEN))
  await openLibrary(page, site.isolated)
  const seen = await page.evaluate(
    async ({ model, prompt, options }) => {
      const blob = await (await fetch(model)).blob()
      const bytes = new Uint8Array(await blob.arrayBuffer())
      const reader = new FileReader()
      const data = await new Promise<unknown>((resolve) => {
        reader.onload = () => resolve(reader.result)
        reader.readAsDataURL(blob)
      })
      const sources = {
        'blob:': URL.createObjectURL(blob),
        'data:': data as string,
        Blob: blob,
        ArrayBuffer: bytes.buffer,
        Uint8Array: bytes,
      }
      const texts: [string, string][] = []
      for (const [name, source] of Object.entries(sources)) {
        const { fits } = await halfbyte.Engine.probe(source)
        await using engine = await halfbyte.Engine.load(source, { threads: 1 })
        texts.push([name, fits ? await engine.complete(prompt, options).text() : 'too large'])
      }
      // The page still owns the bytes, and nothing was stored.
      return { texts, bytes: bytes.length, stored: await halfbyte.storedFiles() }
    },
    { model, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
  )
  expect(Object.fromEntries(seen.texts)).toEqual({
    'blob:': TEXT,
    'data:': TEXT,
    Blob: TEXT,
    ArrayBuffer: TEXT,
    Uint8Array: TEXT,
  })
  expect(seen.bytes).toBeGreaterThan(0)
  expect(seen.stored).toEqual([])
})

test('responses, streams, lists of an input and shared bytes are rejected with advice on what to pass', async ({
  page,
  site,
}) => {
  await openLibrary(page, site.isolated)
  const refusals = await page.evaluate(async () => {
    const input = document.createElement('input')
    input.type = 'file'
    const sources = [
      new Response('GGUF'),
      new Blob(['GGUF']).stream(),
      input.files,
      new Uint8Array(new SharedArrayBuffer(8)),
    ]
    const messageOf = (error: unknown) =>
      halfbyte.isHalfbyteError(error) ? `${error.code}: ${error.message}` : `untyped: ${error}`
    return Promise.all(
      sources.map((source) => halfbyte.Engine.load(source as never).then(() => 'loaded', messageOf)),
    )
  })
  const refused = (what: string, next: string) =>
    `unsupported: the model is ${what} but must be an address, a File, Files, bytes or { repo }; pass ${next}`
  expect(refusals.slice(0, 3)).toEqual([
    refused('a Response', 'await response.blob()'),
    refused('a ReadableStream', 'await new Response(stream).blob()'),
    refused('a FileList', '[...files]'),
  ])
  expect(refusals[3]).toMatch(/^unsupported: the model cannot be read \(.*shared.*\)/i)
})

test('a network loads from bytes without a name', async ({ page, site }) => {
  const shape = { layers: 1, hidden: 64, heads: 4, intermediate: 128, vocabulary: 60, positions: 128 }
  const model = await site.add(new File([new Uint8Array(bertBytes(shape))], 'bert.onnx'))
  await openLibrary(page, site.isolated)
  const inputs = await page.evaluate(async (model) => {
    const bytes = await (await fetch(model)).arrayBuffer()
    const found: string[][] = []
    for (const source of [bytes, URL.createObjectURL(new Blob([bytes]))]) {
      const network = await networks.load(source)
      found.push(network.inputs.map(({ name }) => name))
      await network.dispose()
    }
    return found
  }, model)
  const names = ['input_ids', 'attention_mask', 'token_type_ids']
  expect(inputs.map((each) => each.toSorted())).toEqual([names.toSorted(), names.toSorted()])
})
