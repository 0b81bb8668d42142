// Tests of files on disk that other files name. In: forged models and modules in a folder. Out: every file
// that a load looks for or opens, each in that folder. At addresses: engine/load/open/named-files.test.ts.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { bertFolder, byPath, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { FORGED_NAMES } from '../../../core/formats/names/testing/forged-names.ts'
import { modelBytes } from '../../../network/onnx/testing/write-model.ts'
import { path, testFolder } from '../testing/program.ts'
import { withPrepared } from './model.ts'
import { loadEmbedder, loadNetwork } from './node-models.ts'

/** Paths that a file function was called with, and those functions. Mocks come before other lines run. */
const { touched, noted } = vi.hoisted(() => {
  const touched: string[] = []
  const names = new Set(['open', 'stat', 'readdir', 'readFile', 'existsSync', 'statSync'])
  const noted = (module: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(module).map(([name, value]) => {
        if (typeof value !== 'function' || !names.has(name)) return [name, value]
        const call = (file: unknown, ...others: unknown[]): unknown => {
          touched.push(String(file))
          return value(file, ...others)
        }
        return [name, call]
      }),
    )
  return { touched, noted }
})
vi.mock('node:fs/promises', async (original) => noted(await original()))
vi.mock('node:fs', async (original) => noted(await original()))

testFolder()
beforeEach(() => {
  touched.length = 0
})

const withWeights = (location: string) =>
  modelBytes({
    nodes: [{ op: 'Add', inputs: ['x', 'w'], outputs: ['y'] }],
    constants: [{ name: 'w', dims: [1 << 15], external: { location } }],
    inputs: ['x'],
    outputs: ['y'],
  })

const encoder = new Map(byPath(bertFolder(randomBert(1))))
const signal = new AbortController().signal
const chat = (place: string) => withPrepared(place, { weights: 'auto' }, signal, async () => undefined)

const modulesOf = (kind: 'Pooling' | 'Dense', name: string) => {
  const pooling = kind === 'Dense' ? [{ type: 'x.Pooling', path: '1_Pooling' }] : []
  return JSON.stringify([{ type: 'x.Transformer', path: '' }, ...pooling, { type: `x.${kind}`, path: name }])
}

/** Every reader that follows names on disk. `file` gets the bytes that hold the name. */
const READERS = [
  {
    reader: 'external data of an ONNX model',
    folder: 'external',
    file: 'model.onnx',
    bytes: withWeights,
    load: chat,
  },
  {
    reader: 'external data of a network',
    folder: 'network',
    file: 'model.onnx',
    bytes: withWeights,
    load: loadNetwork,
  },
  {
    reader: 'the index of safetensors',
    folder: 'index',
    file: 'model.safetensors.index.json',
    bytes: (name: string) => JSON.stringify({ weight_map: { 'model.norm.weight': name } }),
    load: chat,
  },
  {
    reader: 'the folder of a pooling in modules.json',
    folder: 'pooling',
    file: 'modules.json',
    bytes: (name: string) => modulesOf('Pooling', name),
    load: (place: string) => loadEmbedder(place, { threads: 1 }),
  },
  {
    reader: 'the folder of a Dense module in modules.json',
    folder: 'dense',
    file: 'modules.json',
    bytes: (name: string) => modulesOf('Dense', name),
    load: (place: string) => loadEmbedder(place, { threads: 1 }),
  },
] as const

describe.each(READERS)('$reader', ({ folder: name, file, bytes, load }) => {
  const folder = path(name)
  beforeAll(async () => {
    for (const [at, part] of encoder) {
      if (file === 'model.onnx' && at !== 'config.json') continue
      await mkdir(dirname(join(folder, at)), { recursive: true })
      await writeFile(join(folder, at), await part.bytes())
    }
  })

  test.each(FORGED_NAMES)('%j opens nothing outside of the folder', async (forged) => {
    await writeFile(join(folder, file), bytes(forged))
    touched.length = 0
    const error = await load(folder).then(
      () => undefined,
      (reason) => reason,
    )
    const own = touched.filter((each) => !/node_modules|[\\/](?:src|dist)[\\/]/.test(each))
    expect(isHalfbyteError(error) && error.code).toMatch(/^(format|unsupported)$/)
    expect(own.length).toBeGreaterThan(0)
    expect(own.filter((each) => each !== folder && !join(each).startsWith(folder + sep))).toEqual([])
  })
})
