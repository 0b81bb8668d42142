// Target: names. In: ONNX models, indexes of safetensors, modules.json and a hub's listings that name files.
// Out: the files that a load requests. A request outside the model's folder, or one that sends a token there,
// is a finding.

import { ALL_READERS } from '../../../src/core/arch/open-model.ts'
import { givenPlace, type Place } from '../../../src/core/formats/names/named-files.ts'
import { folderSettings } from '../../../src/encoders/service/embed-settings.ts'
import { moduleFiles } from '../../../src/encoders/service/module-files.ts'
import { openAny } from '../../../src/engine/load/open/open-any.ts'
import { openRequestedFiles } from '../../../src/engine/load/open/requested-files.ts'
import type { LoadRequest } from '../../../src/engine/wire/protocol.ts'
import { openOnnx } from '../../../src/network/onnx/open-model.ts'
import { modelBytes } from '../../../src/network/onnx/testing/write-model.ts'
import type { Random } from '../../helpers/random.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import type { Target } from '../target.ts'

const HUB = 'https://hub.invalid/'
const FOLDER = `${HUB}owner/model/resolve/main/`
const LISTING = `${HUB}api/models/owner/model/tree/main`
const GIVERS = ['model.onnx', 'model.safetensors.index.json', 'listing', 'modules.json'] as const
const WORDS = [
  'w.bin',
  'model.gguf',
  'a-00001-of-00002',
  '.safetensors',
  'owner',
  'resolve',
  'x=1',
  'é',
  '😀',
]
const PIECES = [
  '.',
  '..',
  '/',
  '//',
  '\\',
  '%2e',
  '%2F',
  '%5c',
  '%',
  '?',
  '#',
  ':',
  '@',
  ' ',
  '\t',
  '\n',
  '\0',
]
const SIGNS = [
  'https:',
  'other.invalid',
  '\u3000',
  '\uff0e',
  '\uff0f',
  '\u2028',
  '\ufeff',
  '\ud800',
  '~',
  '&',
  ';',
]
const DATA = new Uint8Array(64)

export async function openTarget(): Promise<Target> {
  const asked: (readonly [url: string, token: string | null])[] = []
  let files: ReadonlyMap<string, Uint8Array> = new Map()
  globalThis.fetch = async (input, init) => {
    const url = String(input)
    asked.push([url, new Headers(init?.headers).get('authorization')])
    const bytes = files.get(url) ?? (/\.bin$/.test(url) ? DATA : undefined)
    return bytes === undefined ? new Response(null, { status: 404 }) : new Response(new Uint8Array(bytes))
  }
  return {
    draw(random): Input {
      const giver = random.pick(GIVERS)
      const name = nameOf(random)
      if (giver === 'model.onnx') return { giver, file: withWeights(name) }
      return { giver, file: new TextEncoder().encode(JSON.stringify(documentOf(giver, name, random))) }
    },
    async run(input) {
      const giver = textOf(input, 'giver')
      files = filesOf(giver, bytesOf(input, 'file'))
      asked.length = 0
      const place = givenPlace(giver === 'model.onnx' ? FOLDER + giver : FOLDER)
      const found = await (giver === 'modules.json' ? loadModules(place) : load(place)).catch((error) => ({
        error,
      }))
      for (const [url, token] of asked) check(url, token)
      if ('error' in found) throw found.error
      return 'opened'
    },
  }
}

const nameOf = (random: Random): string =>
  Array.from({ length: random.below(7) }, () => random.pick(random.pick([WORDS, PIECES, SIGNS]))).join('')

/** The server's answer, with `name` for one of its files. */
function documentOf(giver: (typeof GIVERS)[number], name: string, random: Random): unknown {
  if (giver === 'listing') return [{ path: name }]
  if (giver !== 'modules.json') return { weight_map: { w: name, v: 'v.safetensors' } }
  const kind = random.pick(['Pooling', 'Dense', 'Normalize'])
  const pooling = { type: 'x.Pooling', path: '1_Pooling' }
  return [{ type: 'x.Transformer', path: '' }, pooling, { type: `x.${kind}`, path: name }]
}

function filesOf(giver: string, file: Uint8Array): Map<string, Uint8Array> {
  if (giver === 'listing') return new Map([[LISTING, file]])
  const empty = new TextEncoder().encode('{}')
  const beside = ['config.json', 'tokenizer.json'].map((name) => [FOLDER + name, empty] as const)
  return new Map([[FOLDER + giver, file], ...beside])
}

const request = { cache: 'none', hub: { baseUrl: HUB, token: 'secret' } } as const

async function load(place: Place) {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  return openAny(place, (source) => openRequestedFiles({ ...request, source }, hooks), {
    loadOnnx: async () => ({ openOnnx }),
    ...ALL_READERS,
  })
}

/** Reads the settings of an encoder's folder, and the files of its Dense modules. */
async function loadModules(place: Place) {
  const { signal } = new AbortController()
  const open = (source: LoadRequest['source']) =>
    openRequestedFiles({ ...request, source }, { signal, onProgress() {} })
  const { readJson, openDense } = await moduleFiles(place, open, signal)
  const { dense } = await folderSettings('model', readJson)
  return Promise.all(dense.map((path) => openDense(path, 32)))
}

/** Rethrows anything but a HalfbyteError, so that it counts as a finding. */
function check(url: string, token: string | null): void {
  const { href } = new URL(url)
  const isInside =
    href.startsWith(FOLDER) && !/[?#\\]|\/\/|(^|\/|%2f)(\.|%2e)+(\/|%2f|$)/i.test(href.slice(FOLDER.length))
  if (!isInside && href !== LISTING) throw new Error(`${url} was requested from outside the folder`)
  if (token !== 'Bearer secret') throw new Error(`${url} was requested without the token of its hub`)
}

/** An ONNX model whose only weight is in the file with this name. */
export const withWeights = (location: string): Uint8Array =>
  modelBytes({
    nodes: [{ op: 'Add', inputs: ['x', 'w'], outputs: ['y'] }],
    constants: [{ name: 'w', dims: [16], external: { location } }],
    inputs: ['x'],
    outputs: ['y'],
  })
