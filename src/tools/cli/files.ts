// Opens `<model>` as typed (a file, a folder, a URL or an embedded model's name) as byte sources, and reads
// text files.

import { createReadStream, readSync } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type ByteSource, filledSource } from '../../core/base/bytes.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import {
  COMPANIONS,
  chooseGraph,
  GRAPH_FOLDER,
  type GraphDtype,
  type GraphFiles,
  graphsAmong,
} from '../../core/formats/names/graph-files.ts'
import { givenPlace, type Place } from '../../core/formats/names/named-files.ts'
import { filesOf } from '../../core/store/address.ts'
import { CATALOGUE, catalogued } from '../../core/store/catalogue.ts'
import { type Peeked, peekAddress } from '../../core/store/download/peek.ts'
import type { DownloadProgress } from '../../core/store/download/tally.ts'
import { type Hub, hubUrl, parseHubAddress, WEIGHTS } from '../../core/store/hub.ts'
import type { OpenOptions } from '../../core/store/open-address.ts'
import { collectIds, encodeStream, takeIds } from '../../core/text/tokenize/encode-stream.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import { type OpenFiles, openAddressedFiles } from '../../engine/load/open/requested-files.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import { hubHere, isUrl } from './hub-here.ts'
import { EMBEDDED, EMBEDDED_NAMES, embeddedModel, embeddedPath } from './models/embedded.ts'
import { storedAddress } from './models/stored-models.ts'
import type { LoraFlag } from './options.ts'
import { type StoreOption, storeOf } from './store/node-store.ts'
import { systemCode } from './system-errors.ts'
import { systemError, unreached } from './terminal/failure.ts'

/** Maximum bytes of a text that must fit into memory, such as a schema or a dataset. */
const MAX_BYTES = 256 << 20

/** The bytes as they arrive. Throws `format` if the file cannot be read. */
export async function* readBytes(path: string | undefined): AsyncGenerator<Uint8Array> {
  try {
    yield* path === undefined ? process.stdin : createReadStream(path)
  } catch (cause) {
    throw systemError(cause, 'format', `the text file ${path ?? 'stdin'} cannot be read`, 'check the path')
  }
}

/** UTF-8. Throws `format` if the file cannot be read. */
export async function* readPieces(path: string | undefined): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of readBytes(path)) yield decoder.decode(bytes, { stream: true })
  yield decoder.decode()
}

/** UTF-8. Throws `format` if the file cannot be read or is too long. */
export async function readText(path: string | undefined, maxBytes = MAX_BYTES): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const bytes of readBytes(path)) {
    parts.push(bytes)
    length += bytes.length
    if (length > maxBytes) {
      throw new HalfbyteError(
        'format',
        `the text file ${path ?? 'stdin'} has more than ${maxBytes} bytes and must fit into memory; give a part of it`,
        { most: maxBytes },
      )
    }
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(parts))
}

/** The ids of a text, or only the first `most`; the rest of the text is not read. */
export async function readIds(path: string, tokenizer: Tokenizer, most?: number): Promise<Uint32Array> {
  const parts = encodeStream(tokenizer, readPieces(path), { addSpecial: true })
  return (await collectIds(most === undefined ? parts : takeIds(parts, most))).ids
}

const FOLDER_FILES = /\.(json|jinja|safetensors|gguf|hbm)$/

interface FileOptions {
  readonly signal?: AbortSignal | undefined
  /** Progress of a URL's download. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  /** Which ONNX graph to open if a model has several precisions. */
  readonly dtype?: GraphDtype | undefined
  /** `graph`: of a folder on a server, only the ONNX graph. Default: all files of a language model. */
  readonly wants?: 'graph' | undefined
  /** Overrides the hub's address and token from the environment. */
  readonly hub?: Hub | undefined
  /** Where downloads are stored. */
  readonly store?: StoreOption
}

/**
 * `<model>` as a URL or as an unambiguous path. A file or folder on this machine takes precedence over a
 * catalogue model, a stored model and a hub repository of the same name. A trailing slash is kept. Returns a
 * text that matches nothing unchanged.
 */
export async function placeOf(model: string, store?: StoreOption): Promise<Place> {
  if (embeddedModel(model) !== undefined) return givenPlace(model)
  // A path that cannot be inspected counts as existing; opening it reports the reason.
  const isHere = !isUrl(model) && !model.startsWith('hf:') && (await isThere(model).catch(() => true))
  if (isHere) return givenPlace(resolve(model) + (/[\\/]$/.test(model) ? '/' : ''))
  const known = catalogued(model)
  const stored = known === undefined ? await storedAddress(model, storeOf(store)) : undefined
  if (stored !== undefined) return givenPlace(stored)
  const address = parseHubAddress(known?.address ?? model)
  return givenPlace(address === undefined ? model : hubUrl(address, hubHere()))
}

/** The same, for adapters. */
export async function placedAdapters(lora: readonly LoraFlag[] | undefined): Promise<LoadRequest['lora']> {
  return lora && Promise.all(lora.map(async (flag) => ({ ...flag, source: await placeOf(flag.source) })))
}

function addressOptions({ store, hub = hubHere(), ...options }: FileOptions): OpenOptions {
  const device = storeOf(store)
  return { ...options, hub, device, cache: device === undefined ? 'none' : 'opfs' }
}

/** Replaces the library's message, which is meant for pages: Node knows why the connection failed. */
const fromServer = <T>(asked: Promise<T>, place: string): Promise<T> =>
  asked.catch((error) => {
    throw unreached(error, place)
  })

/** Opens `<model>` to read its headers. Throws what `openModelFiles` throws. */
export async function peekModelFiles(
  model: string,
  options: Omit<FileOptions, 'onProgress'>,
): Promise<Peeked> {
  const place = await placeOf(model, options.store)
  if (isUrl(place)) return fromServer(peekAddress(place, addressOptions(options)), place)
  const graphs = async () => (embeddedModel(model) === undefined ? graphsIn(model) : [])
  return { ...(await openModelFiles(model, options)), graphs, downloadBytes: 0 }
}

/** The graphs in a folder from which a load without `dtype` chooses. */
async function graphsIn(path: string): Promise<readonly GraphFiles[]> {
  if (!(await stat(path)).isDirectory()) return []
  const [graph = ''] = await pathsOf(path)
  if (!graph.endsWith('.onnx')) return []
  const folder = dirname(graph)
  const names = await fileNames(folder)
  const files = names.map(async (name) => ({ name, size: (await stat(join(folder, name))).size }))
  return graphsAmong(await Promise.all(files), resolve(path) === folder ? '' : GRAPH_FOLDER)
}

/** Opens `<model>`. Throws `format` if there is no such file, `network` if a URL cannot be fetched. */
export async function openModelFiles(model: string, options: FileOptions = {}): Promise<OpenFiles> {
  const place = await placeOf(model, options.store)
  if (isUrl(place)) return fromServer(openAddressedFiles(place, addressOptions(options)), place)
  const handles: FileHandle[] = []
  let opened = model
  const close = async () => void (await Promise.all(handles.map((handle) => handle.close())))
  try {
    const sources: ByteSource[] = []
    const embedded = embeddedModel(model)
    for (const path of embedded === undefined
      ? await pathsOf(model, options.dtype)
      : [embeddedPath(embedded)]) {
      opened = path
      const handle = await open(path)
      handles.push(handle)
      sources.push(handleSource(path, handle, (await handle.stat()).size))
    }
    return { sources, close }
  } catch (error) {
    await close()
    throw systemError(error, 'format', `the model ${opened} cannot be opened`, 'check the path')
  }
}

function handleSource(path: string, handle: FileHandle, size: number): ByteSource {
  const name = basename(path)
  const checkRead = (bytesRead: number, length: number, offset: number): void => {
    if (bytesRead === length) return
    throw new HalfbyteError(
      'format',
      `${name}: ${bytesRead} of ${length} bytes could be read at ${offset}; the file was changed; try again`,
    )
  }
  const source = filledSource(name, size, async (target, offset) => {
    const { byteLength: length } = target
    const { bytesRead } = await handle.read(target, 0, length, offset).catch((error) => {
      throw systemError(error, 'format', `${name} cannot be read`, 'check the disk')
    })
    checkRead(bytesRead, length, offset)
  })
  const read = (target: Uint8Array, offset: number): void => {
    const { byteLength: length } = target
    checkRead(readSync(handle.fd, target, 0, length, offset), length, offset)
  }
  return { ...source, shared: { entry: resolve(path), sums: [], isRight: () => true, read } }
}

/** Maximum edit distance between a mistyped name and the intended one. */
const MAX_TYPOS = 2

/** The model whose name is closest to a text; undefined if none is close. */
function nearestName(text: string): string | undefined {
  const near = [...EMBEDDED, ...CATALOGUE]
    .map(({ id }) => ({ id, typos: typosBetween(text.toLowerCase(), id) }))
    .filter(({ typos }) => typos <= MAX_TYPOS)
  return near.sort((one, other) => one.typos - other.typos)[0]?.id
}

/** The Levenshtein distance. */
function typosBetween(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MAX_TYPOS) return MAX_TYPOS + 1
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, character] of [...one].entries()) {
    const next = [at + 1]
    for (let column = 1; column < row.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (other[column - 1] === character ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** The files of `<model>` on this machine. Throws `format` if there are none. */
export async function pathsOf(path: string, dtype?: GraphDtype): Promise<string[]> {
  if (!(await isThere(path))) {
    const meant = nearestName(path)
    throw new HalfbyteError(
      'format',
      `there is no file or folder ${path}; ${meant === undefined ? '' : `did you mean ${meant}? Otherwise `}give a model file, a folder, a URL, owner/name on the hub, a name that "halfbyte models" lists, or ${EMBEDDED_NAMES}`,
    )
  }
  if (!(await stat(path)).isDirectory()) {
    if (path.endsWith('.onnx')) return graphFiles(path)
    return filesOf(givenPlace(basename(path))).map((file) => join(dirname(path), file.url))
  }
  const names = await fileNames(path)
  if (names.some((name) => name.endsWith('.onnx'))) return graphFiles(join(path, chooseGraph(names, dtype)))
  const files = names.filter((name) => FOLDER_FILES.test(name))
  const graphs = join(path, GRAPH_FOLDER)
  const hasWeights = files.some((name) => WEIGHTS.test(name))
  if ((dtype !== undefined || !hasWeights) && (await isThere(graphs)))
    return graphFiles(join(graphs, chooseGraph(await fileNames(graphs), dtype)))
  if (files.length > 0) return files.map((name) => join(path, name))
  throw new HalfbyteError(
    'format',
    `the folder ${path} contains no model; give one with a .gguf, a .hbm, an .onnx, or .safetensors and config.json`,
  )
}

/** The names of a folder's files, sorted. */
async function fileNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/**
 * A graph with all files next to it except other graphs. In the layout of transformers.js, the model's other
 * files are one level up.
 */
async function graphFiles(path: string): Promise<string[]> {
  const folder = dirname(resolve(path))
  const beside = (await fileNames(folder)).filter((name) => !name.endsWith('.onnx'))
  const above = basename(folder) === basename(GRAPH_FOLDER) ? dirname(folder) : undefined
  const companions =
    above === undefined ? [] : (await fileNames(above)).filter((name) => COMPANIONS.has(name))
  return [
    path,
    ...beside.filter((name) => !companions.includes(name)).map((name) => join(folder, name)),
    ...companions.map((name) => join(above as string, name)),
  ]
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}
