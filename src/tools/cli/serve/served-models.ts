// Loads the models of `halfbyte serve` from the command line, and gives them their names.
import { InvalidArgumentError } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { isTowerName } from '../../../core/formats/names/named-files.ts'
import type { Embedder } from '../../../encoders/embedder/embedder.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { openEmbedder } from '../command-embedder.ts'
import { openEngine } from '../command-engine.ts'
import { addressAmong, listStoredModels, type StoredModel } from '../models/stored-models.ts'
import type { EngineFlags, VisionFlags } from '../options.ts'
import { storeOf } from '../store/node-store.ts'
import { bytesText } from '../terminal/offer.ts'
import type { Served } from './http-server.ts'
import { StoredEngines } from './stored-engines.ts'

/** A model on the command line. Default name: its own id. */
interface ModelFlag {
  readonly name?: string
  readonly place: string
}

export interface ModelFlags extends EngineFlags, VisionFlags {
  readonly model?: readonly ModelFlag[]
  readonly embedder?: string
  readonly reranker?: string
}

/** Parses `--model name=FILE`, which may be repeated. */
export function namedModel(text: string, before: readonly ModelFlag[] = []): readonly ModelFlag[] {
  const [, name = '', place = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? []
  if (place === '') throw new InvalidArgumentError('give it as name=FILE.')
  return [...before, { name, place }]
}

interface LoadedModels extends AsyncDisposable {
  readonly models: Served
  readonly embedder: Embedder | undefined
  readonly reranker: Embedder | undefined
  /** Names of the chat models, or of the encoder if there are none. */
  readonly names: readonly string[]
}

/**
 * The models of the store, none of which is loaded yet. Undefined if there are none. Throws `unsupported` for
 * an option for a single model.
 */
export async function loadStored(
  flags: ModelFlags,
  log: (line: string) => void,
): Promise<LoadedModels | undefined> {
  const store = storeOf(undefined)
  const names = async () => (await listStoredModels(store)).filter(isServed).map(({ name }) => name)
  const listed = await names()
  if (listed.length === 0) return undefined
  checkSingle(Number.POSITIVE_INFINITY, flags)
  const models = new StoredEngines({
    list: names,
    async find(asked) {
      const models = await listStoredModels(store)
      const address = addressAmong(models, asked)
      return models.filter(isServed).find((model) => model.name === asked || model.address === address)?.name
    },
    async load(name, signal) {
      const engine = await openEngine(name, flags, signal ?? new AbortController().signal)
      await logMemory(name, engine, log)
      return engine
    },
  })
  const dispose = () => models[Symbol.asyncDispose]()
  return { models, embedder: undefined, reranker: undefined, names: listed, [Symbol.asyncDispose]: dispose }
}

/** A vision tower is not a model by itself. */
const isServed = ({ isComplete, address }: StoredModel): boolean => isComplete && !isTowerName(address)

async function logMemory(name: string, model: Engine | Embedder, log: (line: string) => void): Promise<void> {
  const { totalBytes, weightsBytes } = await model.memory()
  log(`${name}: ${bytesText(totalBytes)} in memory, ${bytesText(weightsBytes)} of weights`)
}

/**
 * Loads all models, one after another, and logs the memory of each. Throws `unsupported` if two have the same
 * name, or if an option for a single model is used with several.
 */
export async function loadModels(
  places: readonly string[],
  flags: ModelFlags,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<LoadedModels> {
  const wanted = [...places.map((place): ModelFlag => ({ place })), ...(flags.model ?? [])]
  checkSingle(wanted.length, flags)
  const open: (Engine | Embedder)[] = []
  const opened = async <Model extends Engine | Embedder>(loading: Promise<Model>, name?: string) => {
    const model = await loading
    open.push(model)
    await logMemory(name ?? model.model.id, model, log)
    return model
  }
  const dispose = async () => {
    for (const model of open) await model.dispose()
  }
  try {
    const engines = new Map<string, Engine>()
    for (const { name, place } of wanted) {
      const engine = await opened(openEngine(place, flags, signal), name)
      const id = name ?? engine.model.id
      if (engines.has(id)) throw sameName(id)
      engines.set(id, engine)
    }
    const encoder = async (place: string | undefined) =>
      place === undefined ? undefined : opened(openEmbedder(place, flags, signal))
    const embedder = await encoder(flags.embedder)
    const reranker = await encoder(flags.reranker)
    const models = engines.size > 0 ? Object.fromEntries(engines) : ((embedder ?? reranker) as Embedder)
    const names = engines.size > 0 ? [...engines.keys()] : [(models as Embedder).model.id]
    return { models, embedder, reranker, names, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

function checkSingle(count: number, flags: ModelFlags): void {
  const about = (['vision', 'lora', 'chatTemplate', 'architecture'] as const).find(
    (name) => flags[name] !== undefined,
  )
  if (count < 2 || about === undefined) return
  const flag = about === 'chatTemplate' ? 'chat-template' : about
  throw new HalfbyteError(
    'unsupported',
    `--${flag} applies to one model but ${count < Number.POSITIVE_INFINITY ? `${count} are` : 'none is'} given; serve that model separately, on another --port`,
    { name: about },
  )
}

const sameName = (id: string) =>
  new HalfbyteError('unsupported', `two models are called ${id}; name one with --model name=FILE`, {
    name: id,
  })
