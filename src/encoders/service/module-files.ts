// Finds the files of a folder that sentence-transformers wrote: at its address, or among picked files, whose
// folders are unknown.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { parseJson } from '../../core/base/json.ts'
import { isCount, isObject, type JsonObject } from '../../core/base/values.ts'
import { readText } from '../../core/formats/json-files.ts'
import { type InnerPath, type Place, pathInside, placeInside } from '../../core/formats/names/named-files.ts'
import { isNotFound } from '../../core/store/file-at.ts'
import type { OpenFiles } from '../../engine/load/open/requested-files.ts'
import type { LoadRequest } from '../../engine/wire/protocol.ts'
import { MODULES, type ReadJson } from './embed-settings.ts'

type Open = (source: LoadRequest['source']) => Promise<OpenFiles>

interface ModuleFiles {
  /** The files of the encoder itself. */
  readonly own: LoadRequest['source']
  readonly readJson: ReadJson
  /** Weights and configuration of the Dense module at `path` with `inputs` inputs. */
  readonly openDense: (path: InnerPath, inputs: number) => Promise<OpenFiles['sources']>
}

/** The model's own files, and readers for the other files in its folder. */
export async function moduleFiles(
  source: LoadRequest['source'],
  open: Open,
  signal: AbortSignal,
): Promise<ModuleFiles> {
  return typeof source === 'string' ? filesAt(source, open, signal) : filesAmong(source, open, signal)
}

/** Only a location that ends with a slash is a folder. */
function filesAt(place: Place, open: Open, signal: AbortSignal): ModuleFiles {
  return {
    own: place,
    async readJson(path) {
      if (!place.endsWith('/')) return undefined
      const files = await open(placeInside(place, path)).catch((error: unknown) => {
        if (isMissing(error)) return undefined
        throw error
      })
      return firstObject(files, signal)
    },
    async openDense(path) {
      const files = ['model.safetensors', 'config.json'].map((name) =>
        open(placeInside(place, pathInside(`${path}/${name}`, MODULES))),
      )
      return (await Promise.all(files)).flatMap(({ sources }) => sources)
    },
  }
}

async function filesAmong(files: readonly File[], open: Open, signal: AbortSignal): Promise<ModuleFiles> {
  const { own, pooling, dense } = await splitPicked(files)
  return {
    own,
    async readJson(path) {
      const found = path.includes('/') ? pooling : files.find(({ name }) => name === path)
      return found && firstObject(await open([found]), signal)
    },
    openDense: async (path, inputs) => (await open(pickedDense(dense, path, inputs))).sources,
  }
}

async function firstObject(files: OpenFiles | undefined, signal: AbortSignal): ReturnType<ReadJson> {
  const [found] = files?.sources ?? []
  return found && parsed(found.name, await readText(found, signal))
}

/** A file of a Dense module, with the sizes that it states. */
interface DenseFile {
  readonly file: File
  readonly inputs: number | undefined
  readonly outputs: number | undefined
}

interface Picked {
  readonly own: readonly File[]
  readonly pooling: File | undefined
  readonly dense: { readonly configs: readonly DenseFile[]; readonly weights: readonly DenseFile[] }
}

/** Files of a picked folder have the same names as those of its modules, and are distinguished by content. */
async function splitPicked(files: readonly File[]): Promise<Picked> {
  const own: File[] = []
  const configs: DenseFile[] = []
  const weights: DenseFile[] = []
  let pooling: File | undefined
  for (const file of files) {
    const text = await headText(file)
    const config = text === undefined ? undefined : objectOf(text)
    const tensor = config?.['linear.weight']
    const shape = isObject(tensor) && Array.isArray(tensor['shape']) ? tensor['shape'] : undefined
    const { in_features: inputs, out_features: outputs } = config ?? {}
    if (shape !== undefined) weights.push({ file, inputs: sizeOf(shape[1]), outputs: sizeOf(shape[0]) })
    else if (inputs !== undefined) configs.push({ file, inputs: sizeOf(inputs), outputs: sizeOf(outputs) })
    else if (pooling === undefined && text !== undefined && /"pooling_mode/.test(text)) pooling = file
    else own.push(file)
  }
  return { own, pooling, dense: { configs, weights } }
}

/** Undefined matches no module. */
const sizeOf = (value: unknown): number | undefined => (isCount(value) ? value : undefined)

/** Headers and configurations of modules are short. */
const MAX_BYTES = 1 << 16

/** The text of a config.json, or of the header of model.safetensors, if it can be that of a module. */
async function headText(file: File): Promise<string | undefined> {
  if (file.name === 'config.json') return file.size < MAX_BYTES ? file.text() : undefined
  if (file.name !== 'model.safetensors') return undefined
  const start = new DataView(await file.slice(0, 8).arrayBuffer())
  const length = start.byteLength < 8 ? 0n : start.getBigUint64(0, true)
  return length < MAX_BYTES ? file.slice(8, 8 + Number(length)).text() : undefined
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function pickedDense({ configs, weights }: Picked['dense'], path: string, inputs: number): readonly File[] {
  const fitting = configs.filter((each) => each.inputs === inputs)
  const { outputs } = fitting[0] ?? {}
  const stored = weights.filter((each) => each.inputs === inputs && each.outputs === outputs)
  if (fitting.length === 1 && stored.length === 1) return [...stored, ...fitting].map(({ file }) => file)
  throw new HalfbyteError(
    'format',
    `${fitting.length} configurations and ${stored.length} weights among the files fit the module ${path} with ${inputs} ` +
      'inputs instead of one each; pass its config.json and model.safetensors, or load the folder by its address',
    { path, inputs },
  )
}

function parsed(file: string, text: string): Awaited<ReturnType<ReadJson>> {
  try {
    const value = parseJson(text)
    return isObject(value) || Array.isArray(value) ? value : undefined
  } catch (cause) {
    const sentence = `${file} is not valid JSON (${reasonOf(cause)}); download the model again`
    throw new HalfbyteError('format', sentence, { file }, { cause })
  }
}

const isMissing = (error: unknown): boolean =>
  isNotFound(error) || (isHalfbyteError(error) && error.detail['missing'] === true)
