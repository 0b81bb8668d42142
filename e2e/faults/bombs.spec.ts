// Bombs in Chromium. In: small files, templates and constraints that need a lot of work or memory. Out: typed
// errors, aborts with the exact reason, and a page that answers as before without using more memory.
import { expect, type Page } from '@playwright/test'
import type { Engine, ErrorCode, GenerateOptions } from '../../src/index.ts'
import {
  modelBytes,
  type WrittenGraph,
  type WrittenNode,
} from '../../src/network/onnx/testing/write-model.ts'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../../test/conformance/testing/golden.ts'
import { ggufFile, newFile } from '../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'
import { safetensorsFile } from '../../test/conformance/testing/writers/safetensors-writer.ts'
import { openLibrary, test } from '../library-site.ts'
import { memoryOf } from '../page-memory.ts'

// Tracing injects its own scripts into the page.
test.use({ trace: 'off' })

declare global {
  var bombs: {
    readonly engine: Engine
    /** An error's code and message, an abort's reason, or `resolved`. */
    ended(promise: Promise<unknown>): Promise<unknown>
    filesOf(urls: readonly string[]): Promise<File[]>
  }
}

interface Refusal {
  readonly code: ErrorCode
  readonly says: RegExp
}

const onnx = (graph: Partial<WrittenGraph> & Pick<WrittenGraph, 'nodes'>): File =>
  newFile('model.onnx', modelBytes({ inputs: ['x'], outputs: ['y'], ...graph }))
const whole = (name: string, ...values: readonly number[]) => ({
  ...{ name, type: 7, dims: [values.length] },
  raw: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
})
const filled = (name: string): WrittenNode => ({
  ...{ op: 'ConstantOfShape', inputs: ['shape'], outputs: [name] },
  attributes: { value: { name: 'value', type: 11, dims: [1], raw: new Uint8Array(8) } },
})
const NAMES = Array.from({ length: 200 }, (_, at) => `a${at}`)
/** 200 constants of 32 MB. */
const constants = (reader: WrittenNode): File =>
  onnx({ nodes: [...NAMES.map(filled), reader], constants: [whole('shape', 2 ** 22)] })
const DISCARDED = constants({ op: 'Neg', inputs: ['x'], outputs: ['y'] })

const withTemplate = (source: string): Promise<File> =>
  ggufFile(randomLlama({ seed: 9 }), 'F32', { metadata: { 'tokenizer.chat_template': ['string', source] } })

/** A safetensors header of 2^60 bytes. */
const endlessHeader = () => {
  const bytes = new Uint8Array(1000)
  new DataView(bytes.buffer).setBigUint64(0, 2n ** 60n, true)
  return bytes
}
const adapterConfig = (r: number) =>
  new File([JSON.stringify({ peft_type: 'LORA', r })], 'adapter_config.json')
const PRODUCT = 'base_model.model.model.layers.0.mlp.up_proj'
/** Matrices of 2^40 rows, without data. */
const wideAdapter = safetensorsFile(
  {
    [`${PRODUCT}.lora_A.weight`]: { dtype: 'F32', shape: [2 ** 40, 64], data_offsets: [0, 2 ** 48] },
    [`${PRODUCT}.lora_B.weight`]: { dtype: 'F32', shape: [64, 2 ** 40], data_offsets: [2 ** 48, 2 ** 49] },
  },
  new Uint8Array(256),
)

/** Files that must be rejected on load; adapters are loaded with the model that answers. */
const LOADS: readonly (Refusal & {
  readonly title: string
  readonly files?: File[]
  readonly lora?: File[]
})[] = [
  {
    title: 'constants of 6 GB that a node reads at once',
    files: [constants({ op: 'Max', inputs: NAMES, outputs: ['y'] })],
    ...{ code: 'out-of-memory', says: /bytes of computed values at once/ },
  },
  {
    title: 'constants of 6 GB that no node reads',
    files: [DISCARDED],
    ...{ code: 'out-of-memory', says: /reading the graph takes \d+ steps of work/ },
  },
  {
    title: 'a product of 2048 x 2048',
    files: [
      onnx({
        nodes: [
          { op: 'ConstantOfShape', inputs: ['shape'], outputs: ['a'] },
          { op: 'MatMul', inputs: ['a', 'a'], outputs: ['y'] },
        ],
        constants: [whole('shape', 2048, 2048)],
      }),
    ],
    ...{ code: 'out-of-memory', says: /reading the graph takes \d+ steps of work/ },
  },
  {
    title: 'one more axis in each node',
    files: [
      onnx({
        nodes: Array.from({ length: 100 }, (_, at) => ({
          ...{ op: 'Unsqueeze', inputs: [at === 0 ? 'x' : `x${at}`, 'axis'], outputs: [`x${at + 1}`] },
        })),
        ...{ constants: [whole('axis', 0)], outputs: ['x100'] },
      }),
    ],
    ...{ code: 'unsupported', says: /65 axes/ },
  },
  {
    title: 'an adapter with a header of 2^60 bytes',
    lora: [newFile('adapter_model.safetensors', endlessHeader()), adapterConfig(4)],
    ...{ code: 'format', says: /1152921504606846976/ },
  },
  {
    title: 'an adapter of rank 2^40',
    lora: [newFile('adapter_model.safetensors', wideAdapter), adapterConfig(2 ** 40)],
    ...{ code: 'format', says: /\d{12}/ },
  },
]

const LEVELS = Array.from({ length: 60 }, (_, at) => `r${at} ::= r${at + 1} "x" | r${at + 1} "y"`)
/** Many patterns, each within its own limits. */
const patterns = (count: number): GenerateOptions => {
  const pattern = (at: number) => ({ type: 'string', pattern: `^(?!.*x{${at}}[ab]{9}).*a[ab]{9}$` })
  const names = Array.from({ length: count }, (_, at) => [`p${at}`, pattern(at + 1)])
  return { schema: { type: 'object', properties: Object.fromEntries(names) } }
}

/** Constraints that the running engine must reject. */
const CONSTRAINTS: readonly (Refusal & { readonly title: string; readonly options: GenerateOptions })[] = [
  {
    title: 'a schema of a hundred patterns',
    options: patterns(100),
    ...{ code: 'unsupported', says: /more than 8388608 steps for all its patterns/ },
  },
  {
    title: 'a schema of counts within counts',
    options: { schema: { type: 'string', pattern: '^(.{0,120}){0,80}$', maxLength: 5000 } },
    ...{ code: 'unsupported', says: /more than 2097152 places in a pattern/ },
  },
  {
    title: 'a grammar whose alternatives double at each level',
    options: { grammar: `root ::= r0\n${LEVELS.join('\n')}\nr60 ::= "a"` },
    ...{ code: 'unsupported', says: /the constraint / },
  },
  {
    title: 'a pattern that doubles its states',
    options: { pattern: '(?!.*x)[ab]*a[ab]{30}' },
    ...{ code: 'unsupported', says: /the constraint / },
  },
]

/** Templates that come with a file. */
const TEMPLATES = {
  'loops in loops': '{% for i in range(65536) %}{% for j in range(65536) %}{% endfor %}{% endfor %}',
  'a text that becomes eight times as long': `{% set ns = namespace(x="a") %}${'{% set ns.x = ns.x.replace("a", "aaaaaaaa") %}'.repeat(40)}{{ ns.x }}`,
  'a macro that calls itself twice':
    '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(200) }}',
}

/** Loads the model that stays loaded. Returns a function that asks it. */
async function openEngine(page: Page, golden: string) {
  await page.evaluate(async (golden) => {
    const engine = await halfbyte.Engine.load(golden, { threads: 1, cache: 'none' })
    const ended = (promise: Promise<unknown>) =>
      promise.then(
        () => 'resolved',
        (error) => (halfbyte.isHalfbyteError(error) ? `${error.code}: ${error.message}` : error),
      )
    const filesOf = (urls: readonly string[]) =>
      Promise.all(
        urls.map(async (url) => new File([await (await fetch(url)).blob()], url.split('/').at(-1) as string)),
      )
    Object.assign(globalThis, { bombs: { engine, ended, filesOf } })
  }, golden)
  return () =>
    page.evaluate(
      async ({ prompt, options }) => {
        const { engine } = globalThis.bombs
        const text = await engine.complete(prompt, options).text()
        return { text, bytes: (await engine.memory()).totalBytes }
      },
      { prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
    )
}

/**
 * How much more memory a page may use at the end: compiled code, and memory of terminated workers that the
 * browser keeps.
 */
const MAX_GROWTH = 8e6

test('bombs in files, templates and constraints are rejected or aborted, and the page answers as before', async ({
  page,
  site,
}) => {
  const add = async (files: readonly File[]) => Promise.all(files.map((file) => site.add(file)))
  const golden = await site.add(await goldenFile(GOLDEN))
  const loads: { title: string; files: string[]; lora: string[] }[] = []
  for (const { title, files = [], lora = [] } of LOADS)
    loads.push({ title, files: await add(files), lora: await add(lora) })
  const templates: string[] = []
  for (const source of Object.values(TEMPLATES)) templates.push(await site.add(await withTemplate(source)))
  await openLibrary(page, site.isolated)
  const answer = await openEngine(page, golden)
  const before = await answer()
  expect(before.text).toBe(goldenReply(GOLDEN).text)
  const [heldBefore, workers] = [await memoryOf(page), page.workers().length]

  await test.step('loads', async () => {
    for (const [at, { code, says, title }] of LOADS.entries()) {
      const said = await page.evaluate(
        async ({ files, lora, golden }) => {
          const { ended, filesOf } = globalThis.bombs
          const source = files.length === 0 ? golden : await filesOf(files)
          const adapters = lora.length === 0 ? {} : { lora: [{ source: await filesOf(lora) }] }
          return ended(halfbyte.Engine.load(source, { threads: 1, cache: 'none', ...adapters }))
        },
        { ...loads[at]!, golden },
      )
      expect(said, title).toMatch(new RegExp(`^${code}: .*${says.source}`))
      expect(await answer(), title).toEqual(before)
    }
  })
  await test.step('constraints', async () => {
    for (const { code, says, title, options } of CONSTRAINTS) {
      const said = await page.evaluate(
        (options) => globalThis.bombs.ended(globalThis.bombs.engine.complete('a', options).result),
        options,
      )
      expect(said, title).toMatch(new RegExp(`^${code}: .*${says.source}`))
      expect(await answer(), title).toEqual(before)
    }
  })
  await test.step('templates', async () => {
    const said = await page.evaluate(async (urls) => {
      const outcomes: unknown[] = []
      for (const url of urls) {
        const { ended } = globalThis.bombs
        await using engine = await halfbyte.Engine.load(url, { threads: 1, cache: 'none' })
        outcomes.push([
          await ended(engine.createSession().send('a').result),
          await ended(engine.complete('a', { maxTokens: 2 }).result),
        ])
      }
      return outcomes
    }, templates)
    const refused = expect.stringMatching(/^format: the chat template (exceeds|rejects|cannot )/)
    expect(said).toEqual(templates.map(() => [refused, 'resolved']))
    expect(await answer()).toEqual(before)
  })
  await test.step('aborts', async () => {
    const aborted = await page.evaluate(
      async (files) => {
        const { ended, filesOf } = globalThis.bombs
        const reason = { because: 'no longer wanted' }
        const abort = new AbortController()
        const source = await filesOf(files)
        const load = halfbyte.Engine.load(source, { threads: 1, cache: 'none', signal: abort.signal })
        setTimeout(() => abort.abort(reason), 100)
        const outcome = await ended(load)
        return outcome === reason || outcome
      },
      await add([DISCARDED]),
    )
    expect(aborted).toBe(true)
    expect(await answer()).toEqual(before)
    const turns = await page.evaluate(async (options) => {
      const { ended, engine } = globalThis.bombs
      const reason = { because: 'no longer wanted' }
      const abort = new AbortController()
      const outcome = ended(engine.complete('a', { ...options, signal: abort.signal }).result)
      let turns = 0
      const timer = setInterval(() => {
        turns += 1
        if (turns === 3) abort.abort(reason)
      }, 20)
      const said = await outcome
      clearInterval(timer)
      return said === reason ? turns : said
    }, patterns(99))
    expect(turns).toBe(3)
    expect(await answer()).toEqual(before)
  })

  // A browser may take two seconds to terminate a busy thread.
  await expect.poll(() => page.workers().length).toBe(workers)
  expect((await memoryOf(page)) - heldBefore).toBeLessThan(MAX_GROWTH)
})
