// Calibration. In: random models, windows of ids. Out: whether inputs equal the interpreter's and packs equal
// those of interrupted runs, and errors.
import { describe, expect, test } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { logitsOf, relativeError, withBuilt } from '../../../../test/conformance/testing/node-engine.ts'
import { type RandomModel, randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import {
  randomRecurrent,
  recurrentSafetensors,
} from '../../../../test/conformance/testing/random-recurrent.ts'
import { buildGraph } from '../../../core/arch/families.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { inverseFrequencies } from '../../../core/arch/rope.ts'
import { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import { blobSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import type { NodeOf } from '../../../core/graph/nodes.ts'
import { interpret } from '../../../core/graph/testing/interpret.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { loadSolver, nodeHost, startSolver } from '../../cli/node-host.ts'
import type { InputStats } from '../matrix/hessian.ts'
import { calibrationWindows } from './calibration-windows.ts'
import { readMatrix } from './gram.ts'
import { type QuantizeOptions, quantizeModel } from './quantize-model.ts'
import { type WalkOptions, walk } from './walk.ts'
import { memoryWork, type WorkFiles } from './work-files.ts'

const { signal } = new AbortController()
const host = nodeHost()

const prepared = async (files: readonly File[], weights: 'auto' | 'w4' | 'w4_channel' | 'w8' = 'w4') =>
  prepareModel(await openModel(files.map((file) => blobSource(file.name, file))), { weights, forPack: true })

const idsOf = (windows: number, length: number): number[][] =>
  Array.from({ length: windows }, (_, w) => Array.from({ length }, (_, i) => (7 * w + 5 * i * i + 3) % 90))

/** Inputs of every linear layer in f64, by the graph's definition, window by window. */
async function definedInputs(files: readonly File[], windows: readonly number[][]) {
  const { config, weights } = await prepared(files)
  const graph = buildGraph(config)
  const values = new Map<string, Float64Array>()
  for (const [name, tensor] of weights) {
    const [n = 0, k = 1] = tensor.shape
    const stored = { ...tensor, shape: [n, k] }
    values.set(name, Float64Array.from(await readMatrix(stored, signal)))
  }
  const linears = graph.nodes.filter((node): node is NodeOf<'linear'> => node.op === 'linear')
  return linears.slice(0, -1).map((node) => {
    const cut = { ...graph, nodes: graph.nodes.slice(0, graph.nodes.indexOf(node)), output: node.input }
    const rows = windows.flatMap((ids) =>
      interpret(
        cut,
        {
          weightOf: (name) => values.get(name) as Float64Array,
          encodingOf: () => 'f32',
          frequencies: [inverseFrequencies(config.rope)],
          state: new Map(),
          kept: new Map(),
        },
        { ids, position: 0, wanted: [] },
      ),
    )
    return { first: node.weight.parts[0]!.name, rows }
  })
}

async function walkedStats(
  files: readonly File[],
  windows: readonly number[][],
  options: Partial<WalkOptions> = {},
) {
  const found: { first: string; stats: InputStats }[] = []
  await walk(await prepared(files, 'auto'), {
    host,
    threads: 1,
    signal,
    windows,
    work: memoryWork(),
    ...options,
    async visit({ parts }, stats) {
      found.push({ first: parts[0]!.name, stats: await stats() })
      return undefined
    },
  })
  return found
}

describe('the walk', () => {
  const models = {
    llama: safetensorsFiles(randomLlama({ seed: 3, intermediate: 88 })),
    // Its attention has biases.
    qwen2: safetensorsFiles(randomLlama({ seed: 6, family: 'qwen2', layers: 1 })),
    mamba: recurrentSafetensors(randomRecurrent('mamba', 4)),
    // More inputs than the products handle in one step.
    wide: safetensorsFiles(randomLlama({ seed: 5, layers: 1, intermediate: 600 })),
  }
  test.each(Object.entries(models))('%s: sees the inputs that the graph defines', async (_, files) => {
    const windows = idsOf(2, 70)
    const defined = (await definedInputs(files, windows)).filter(({ first }) => roleOf(first) === 'matrix')
    const found = await walkedStats(files, windows)
    expect(found.map(({ first }) => first)).toEqual(defined.map(({ first }) => first))
    for (const [index, { stats }] of found.entries()) {
      const rows = defined[index]!.rows
      const { k, gram, means, peaks } = stats
      expect(stats.rows).toBe(rows.length)
      const scale = Math.max(...rows.map((row) => Math.max(...row.map(Math.abs))))
      for (let i = 0; i < k; i++) {
        const column = rows.map((row) => row[i]!)
        expect(means[i]).toBeCloseTo(column.reduce((sum, x) => sum + x, 0) / rows.length, 3)
        expect(Math.abs(peaks[i]! - Math.max(...column.map(Math.abs)))).toBeLessThan(1e-3 * scale)
        for (let j = 0; j <= i; j++) {
          const product = rows.reduce((sum, row) => sum + row[i]! * row[j]!, 0)
          expect(Math.abs(gram[i * k + j]! - product)).toBeLessThan(1e-3 * rows.length * scale * scale)
        }
      }
    }
  })

  test('gives the same bits with any number of threads, and without the module', async () => {
    const solver = await loadSolver()
    const windows = idsOf(2, 70)
    const plain = await walkedStats(models.wide, windows, { drift: true })
    expect(plain.some(({ stats }) => stats.drift !== undefined && stats.behind !== undefined)).toBe(true)
    for (const threads of [1, 2, 3])
      expect(await walkedStats(models.wide, windows, { drift: true, solver, startSolver, threads })).toEqual(
        plain,
      )
  }, 60_000)
})

const optionsOf = (options: Partial<QuantizeOptions> = {}): QuantizeOptions => ({
  method: 'gptq',
  format: 'w4_g32',
  drift: 0.5,
  sweeps: 2,
  host,
  threads: 1,
  signal,
  windows: idsOf(3, 48),
  work: memoryWork(),
  ...options,
})

async function packBytes(files: readonly File[], options: QuantizeOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { contents } = await quantizeModel(await prepared(files), options)
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(contents)) chunks.push(chunk.slice())
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

describe('a quantised model', () => {
  const model: RandomModel = randomLlama({ seed: 8, intermediate: 88, gain: 1.4 })
  const files = safetensorsFiles(model)

  test.each(['w4_g32', 'w4m_g32', 'w8_g32', 'w4_channel'] as const)(
    '%s: GPTQ is closer to the float model than rounding on other text',
    async (format) => {
      const tokens = idsOf(1, 60)[0]!.map((id) => (id * 11 + 1) % 90)
      const logits = (own: readonly File[]) =>
        withBuilt(own, { weights: 'auto' }, (built) => logitsOf(built, tokens))
      const float = await logits(files)
      const windows = idsOf(12, 64)
      const errors: number[] = []
      for (const method of ['rtn', 'gptq'] as const) {
        const bytes = await packBytes(files, optionsOf({ format, method, windows }))
        errors.push(relativeError(await logits([new File([bytes], 'q.hbm')]), float))
      }
      const [rounded = 0, solved = 0] = errors
      expect(rounded).toBeLessThan(format === 'w8_g32' ? 0.05 : 0.6)
      expect(solved).toBeLessThan((format === 'w8_g32' ? 1.02 : 0.93) * rounded)
    },
  )

  test('at least 98 % of bytes are the same from a GGUF and from safetensors of the same weights', async () => {
    const [a, b] = await Promise.all([
      packBytes(files, optionsOf()),
      ggufFile(model).then((file) => packBytes([file], optionsOf())),
    ])
    const tail = (bytes: Uint8Array) => bytes.slice(-20_000)
    // The rows of a head are in another order, so sums differ in the last bit, and codes close to a border
    // change.
    const differing = tail(b).filter((byte, at) => byte !== tail(a)[at])
    expect(differing.length).toBeLessThan(400)
  })

  test('a run stopped at any point resumes with the same bytes, even with threads', async () => {
    const solver = await loadSolver()
    let writes = 0
    const counted = countedWork(memoryWork(), () => writes++)
    const whole = await packBytes(files, optionsOf({ work: counted }))
    expect(writes).toBeGreaterThan(30)
    for (const stop of [2, 17, writes - 2]) {
      const work = memoryWork()
      let left = stop
      const failing = countedWork(work, () => {
        if (left-- === 0) throw new Error('killed')
      })
      await expect(packBytes(files, optionsOf({ work: failing }))).rejects.toThrow('killed')
      let again = 0
      const resumed = countedWork(work, () => again++)
      const threaded = { work: resumed, threads: 2, solver, startSolver }
      expect(await packBytes(files, optionsOf(threaded))).toEqual(whole)
      expect(again).toBeLessThanOrEqual(writes - stop + 8)
    }
  }, 180_000)

  test("a block's output, which is computed from the stored inputs of its last product, has the same bits", async () => {
    const isStored = (name: string) => name.startsWith('ahead-')
    const work = memoryWork()
    let reads = 0
    const counted: WorkFiles = {
      ...work,
      async open(name) {
        const file = await work.open(name)
        if (file === undefined || !isStored(name)) return file
        const read: typeof file.read = (...range) => {
          reads++
          return file.read(...range)
        }
        return { ...file, size: file.size, read }
      },
    }
    const whole = await packBytes(files, optionsOf({ work: counted }))
    expect(reads).toBeGreaterThan(0)
    const other = memoryWork()
    const lost: WorkFiles = {
      ...other,
      open: async (name) => (isStored(name) ? undefined : other.open(name)),
    }
    expect(await packBytes(files, optionsOf({ work: lost }))).toEqual(whole)
  })

  test('an abort stops the run within a window', async () => {
    const controller = new AbortController()
    const options = optionsOf({
      signal: controller.signal,
      onProgress: ({ segment }) => segment === 2 && controller.abort(),
    })
    await expect(packBytes(files, options)).rejects.toThrow(/abort/i)
  })
})

describe('mixed models', () => {
  const model = randomLlama({ seed: 8, intermediate: 88, gain: 1.4 })
  // A few large channels after each norm, as in trained models.
  for (const [name, { values }] of model.weights)
    if (/layernorm/.test(name)) for (let i = 5; i < values.length; i += 16) values[i] = values[i]! * 12
  const files = safetensorsFiles(model)
  const windows = idsOf(12, 64)
  const tokens = idsOf(1, 60)[0]!.map((id) => (id * 11 + 1) % 90)
  const logits = (own: readonly File[], weights: 'auto' | 'f32' = 'auto') =>
    withBuilt(own, { weights }, (built) => logitsOf(built, tokens))

  test('mixed formats fill a budget and lose less than w4', async () => {
    const float = await logits(files)
    const all = await packBytes(files, optionsOf({ format: 'w4_g32', windows }))
    const { contents, matrices } = await quantizeModel(
      await prepared(files),
      optionsOf({ format: 'mixed', budgetBytes: Math.round(1.2 * all.length), windows }),
    )
    expect(new Set(matrices.map(({ format }) => format)).size).toBeGreaterThan(1)
    const bytes = contents.tensors.reduce((sum, tensor) => sum + tensor.bytes, 0)
    expect(bytes).toBeLessThanOrEqual(1.2 * all.length)
    const chunks: Uint8Array<ArrayBuffer>[] = []
    for await (const chunk of writePack(contents)) chunks.push(chunk.slice())
    const errors = await Promise.all(
      [new File(chunks, 'm.hbm'), new File([all], 'q.hbm')].map(async (file) =>
        relativeError(await logits([file]), float),
      ),
    )
    expect(errors[0]).toBeLessThan(0.8 * errors[1]!)
    const small = optionsOf({ format: 'mixed', budgetBytes: 1000, windows })
    await expect(quantizeModel(await prepared(files), small)).rejects.toThrow(/raise --budget by \d+ bytes/)
  }, 120_000)
})

/** Calls `before` before every write. */
const countedWork = (work: WorkFiles, before: () => void): WorkFiles => ({
  ...work,
  async write(name, chunks) {
    before()
    await work.write(name, chunks)
  },
})

describe('inputs that cannot be calibrated', () => {
  test('non-finite inputs are reported with their matrix', async () => {
    const model = randomLlama({ seed: 2 })
    const norm = model.weights.get('model.layers.1.input_layernorm.weight')!
    norm.values.fill(Number.POSITIVE_INFINITY)
    await expect(packBytes(safetensorsFiles(model), optionsOf())).rejects.toMatchObject({
      code: 'integrity',
      message: expect.stringMatching(/input \d+ of layers\.1\.attn_q \+ attn_k \+ attn_v became/),
    })
  })

  test('a full disk and an unsolvable Hessian are reported', async () => {
    const files = safetensorsFiles(randomLlama({ seed: 2 }))
    const full: WorkFiles = {
      ...memoryWork(),
      write: () => Promise.reject(new HalfbyteError('storage-full', 'no room')),
    }
    await expect(packBytes(files, optionsOf({ work: full }))).rejects.toMatchObject({ code: 'storage-full' })
    const few = optionsOf({ damp: 0, windows: idsOf(1, 8) })
    await expect(packBytes(files, few)).rejects.toThrow(/Hessian of layers\.0\..* is singular/)
  })

  test('a model without matrices is reported', async () => {
    const whole = await prepared(safetensorsFiles(randomLlama({ seed: 2 })))
    const slots = whole.plan.slots.filter(({ ref }) => ref.kind === 'vector')
    const none = { ...whole, plan: { ...whole.plan, slots } }
    await expect(quantizeModel(none, optionsOf())).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/has no matrices to compress; convert it as it is/),
    })
  })

  test('an empty text and one that is too short are rejected', async () => {
    const encode = (text: string) => [...text].map(Number)
    const tokenizer = { encode, prefix: [], suffix: [], addsBos: true, bosId: 99 }
    const options = { windows: 2, length: 3 }
    const plain = (texts: readonly string[]) => texts.map((text) => ({ form: 'text', text: [text] }) as const)
    for (const texts of [[], [''], ['12']])
      await expect(calibrationWindows(plain(texts), tokenizer, options)).rejects.toThrow(
        /has \d tokens, but a window takes 3/,
      )
    expect(await calibrationWindows(plain(['1234', '56789']), tokenizer, options)).toEqual([
      [99, 2, 3],
      [99, 5, 6],
    ])
  })
})

test('weights of every family have names that are valid file names', async () => {
  const { weights } = await prepared(safetensorsFiles(randomLlama({ seed: 1 })))
  for (const name of weights.keys()) expect(weightOf(weights, name) && name).toMatch(/^[\w.]+$/)
})
