// Files named by other files on disk. In: forged models and modules in a folder. Out: whether every file that
// a load looks for or opens is in that folder. For URLs, see engine/load/open/named-files.test.ts.
import fs from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bertFolder, byPath, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { FORGED_NAMES } from '../../../core/formats/names/testing/forged-names.ts'
import { modelBytes } from '../../../network/onnx/testing/write-model.ts'
import { path, testFolder } from '../testing/program.ts'
import { withPrepared } from './model.ts'
import { loadEmbedder, loadNetwork } from './node-models.ts'

/** Paths passed to file functions. */
const touched: string[] = []

/** Records the paths passed to functions of Node's `module`. Returns a function that stops recording. */
function noteCalls(module: object): () => void {
  const functions = module as Record<string, unknown>
  const own = ['open', 'stat', 'readdir', 'readFile', 'existsSync', 'statSync'].map((name) => {
    const value = functions[name]
    if (typeof value === 'function')
      functions[name] = (file: unknown, ...others: unknown[]): unknown => {
        touched.push(String(file))
        return value.call(module, file, ...others)
      }
    return [name, value] as const
  })
  return () => {
    for (const [name, value] of own) if (value !== undefined) functions[name] = value
  }
}

// Module mocks would miss modules that earlier test files of this process have imported.
let restore: readonly (() => void)[] = []
beforeAll(() => {
  restore = [noteCalls(fs), noteCalls(fs.promises)]
  syncBuiltinESMExports()
})
afterAll(() => {
  for (const each of restore) each()
  syncBuiltinESMExports()
})

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

/** Every reader that opens files by names in other files. `file` returns the bytes that contain the name. */
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

  test.each(FORGED_NAMES)('%j opens nothing outside the folder', async (forged) => {
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
