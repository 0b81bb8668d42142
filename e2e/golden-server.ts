// A server for golden models. In: Playwright's fixtures. Out: `server`, with configurable faults, and the
// models' expected text.
import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { GenerateOptions } from '../src/index.ts'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../test/conformance/testing/golden.ts'
import { type Behaviour, type FileServer, serveFiles } from '../test/helpers/file-server.ts'
import { test as base } from './library-site.ts'

/** The replies of golden.gguf and long.gguf. */
export const TEXT = goldenReply(GOLDEN).text
/** The behaviour of a normal model server. */
export const FRIENDLY: Behaviour = { exposes: true, etag: '"1"' }
export const MIB = 1 << 20

export const test = base.extend<{ server: FileServer }>({
  async server({ browserName: _ }, use) {
    const bytes = await (await goldenFile(GOLDEN)).bytes()
    // Padding after the tensors makes the same model span several chunks.
    const long = new Uint8Array(11 * MIB)
    long.set(bytes)
    const pack = readFileSync(new URL('../test/conformance/models/halfbyte-tiny.hbm', import.meta.url))
    const server = await serveFiles({ 'golden.gguf': bytes, 'long.gguf': long, 'tiny.hbm': pack })
    server.behaviour = { ...FRIENDLY }
    await use(server)
    await server.close()
  },
})

export interface Loaded {
  readonly text?: string
  readonly code?: string
}

/** Loads with shortened waits, and generates. Errors are returned as codes. */
export const load = (
  page: Page,
  url: string,
  prompt: string = GOLDEN_PROMPT,
  options: GenerateOptions = GOLDEN_OPTIONS,
): Promise<Loaded> =>
  page.evaluate(
    async ({ url, prompt, options }) => {
      try {
        await using engine = await halfbyte.Engine.load(url, {
          threads: 1,
          assets: { worker: workers.hasty },
        })
        return { text: await engine.complete(prompt, options).text() }
      } catch (error) {
        return { code: halfbyte.isHalfbyteError(error) ? error.code : `untyped: ${error}` }
      }
    },
    { url, prompt, options },
  )

/** Bytes of the model at `url` that the origin has stored. */
export const stored = (page: Page, url: string): Promise<number> =>
  page.evaluate((url) => halfbyte.storedBytes(url), url)
