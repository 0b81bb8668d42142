// Turns a model's address into the URLs of its files, required and optional.
import { HalfbyteError } from '../base/errors.ts'
import { parseJson } from '../base/json.ts'
import { GRAPH_FOLDER, type GraphDtype, graphNames } from '../formats/names/graph-files.ts'
import {
  addressInside,
  givenPlace,
  type Place,
  pathInside,
  placeInside,
} from '../formats/names/named-files.ts'
import { SPLIT, splitName } from '../formats/splits.ts'

/** One file to fetch. A missing optional file is not an error. */
export interface RemoteFile {
  readonly url: Place
  readonly optional: boolean
  /** If this file is missing, one of these is needed; the preferred one comes first. */
  readonly instead?: readonly Place[]
}

const INDEX = 'model.safetensors.index.json'
const FOLDER_FILES = [
  ['config.json', false],
  ['tokenizer.json', true],
  ['tokenizer_config.json', true],
  ['generation_config.json', true],
  ['chat_template.jinja', true],
  [INDEX, true],
] as const

/** Files that describe how a vision model prepares images. */
const PROCESSORS = ['preprocessor_config.json', 'processor_config.json']

/** Additional files of a folder whose config.json is given. */
export const processorsOf = (folder: Place, config: Uint8Array | undefined): readonly RemoteFile[] =>
  new TextDecoder().decode(config).includes('"vision_config"')
    ? PROCESSORS.map((name) => ({ url: own(folder, name), optional: true }))
    : []

/** A file that has this name in every model's folder. */
const own = (folder: Place, name: string): Place => placeInside(folder, pathInside(name, folder))

/** The last part of an address's path, decoded for display. Data in the address has no name. */
export function fileName(url: string): string {
  if (url.startsWith('data:')) return 'model'
  const path = url.split(/[?#]/, 1)[0] ?? url
  const last = path.slice(path.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

/**
 * The files of one address: a `.gguf` or a `.hbm` pack (all splits if the name contains `-00001-of-00003`),
 * or a folder of safetensors if the address ends with a slash. Shards of safetensors are found later, from
 * the index.
 */
export function filesOf(address: Place): readonly RemoteFile[] {
  if (address.endsWith('/')) {
    return FOLDER_FILES.map(([name, optional]) => ({
      url: own(address, name),
      optional,
      ...(name === 'tokenizer.json' && { instead: [own(address, 'tokenizer.model')] }),
    }))
  }
  const path = address.split(/[?#]/, 1)[0] ?? address
  const split = SPLIT.exec(path)
  if (split === null) return [{ url: address, optional: false }]
  const count = Number(split[2])
  if (count < 1 || count > 999 || Number(split[1]) > count) {
    throw new HalfbyteError(
      'format',
      `${fileName(address)} is part ${split[1]} of ${split[2]}; give the first part of a split model`,
      {
        part: Number(split[1]),
        count,
      },
    )
  }
  return Array.from({ length: count }, (_, index) => ({
    url: splitName(address, index + 1, count),
    optional: false,
  }))
}

/** Folders of sentence-transformers modules, such as `1_Pooling/`, and of graphs. */
const INNER_FOLDER = new RegExp(`^(${GRAPH_FOLDER}|\\d+_[A-Za-z]+/)?[^/]*$`)

/**
 * Whether a file's URL belongs to `address`. A folder's files are directly in it, in its folder of graphs or
 * in the folders of its modules. Does not open anything.
 */
export function isFileOf(address: string): (url: string) => boolean {
  if (address.endsWith('/'))
    return (url) => url.startsWith(address) && INNER_FOLDER.test(url.slice(address.length))
  const urls = new Set<string>(filesOf(givenPlace(address)).map(({ url }) => url))
  return (url) => urls.has(url)
}

/** The graph of a folder, at its own level or in its folder of graphs; with `dtype`, of that precision. */
export function graphOf(folder: Place, dtype?: GraphDtype): RemoteFile {
  const inside = graphNames(dtype).map((name) => own(folder, GRAPH_FOLDER + name))
  const [first, ...others] = [...(dtype === undefined ? [own(folder, 'model.onnx')] : []), ...inside]
  return { url: first!, optional: false, ...(others.length > 0 && { instead: others }) }
}

/**
 * The weight files that a folder's index names. Without an index: the single safetensors file, or one of the
 * ONNX graphs that a transformers.js repository has instead; with `dtype`, only the graph of that precision.
 */
export function shardsOf(
  folder: Place,
  index: Uint8Array | undefined,
  dtype?: GraphDtype,
): readonly RemoteFile[] {
  const graph = graphOf(folder, dtype)
  if (dtype !== undefined) return [graph]
  if (index === undefined) {
    const instead = [graph.url, ...(graph.instead ?? [])]
    return [{ url: own(folder, 'model.safetensors'), optional: false, instead }]
  }
  const names = new Set<string>()
  try {
    const parsed: unknown = parseJson(new TextDecoder().decode(index))
    const map = (parsed as { weight_map?: Record<string, unknown> }).weight_map ?? {}
    for (const name of Object.values(map)) {
      if (typeof name === 'string') names.add(name)
    }
  } catch (cause) {
    throw new HalfbyteError('format', `${INDEX} is not JSON; download the model again`, {}, { cause })
  }
  return [...names].sort().map((name) => {
    const url = addressInside(folder, name, INDEX)
    if (name.endsWith('.safetensors') && !url.includes('/', folder.length)) return { url, optional: false }
    throw new HalfbyteError(
      'format',
      `${INDEX} names "${name.slice(0, 80)}", which is not a safetensors file directly in its folder; download the index again`,
    )
  })
}
