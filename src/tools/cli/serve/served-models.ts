// Loads the models of `halfbyte serve` from the command line, and gives them their names.
import { InvalidArgumentError } from 'commander'
import type { NamedEngines } from '../../../adapters/openai.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Embedder } from '../../../encoders/embedder/embedder.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { openEmbedder } from '../command-embedder.ts'
import { openEngine } from '../command-engine.ts'
import type { EngineFlags, VisionFlags } from '../options.ts'
import { bytesText } from '../terminal/offer.ts'

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
  /** A single model, or several by name. */
  readonly models: Engine | Embedder | NamedEngines
  readonly embedder: Embedder | undefined
  readonly reranker: Embedder | undefined
  /** Names of the chat models, or of the encoder if there are none. */
  readonly names: readonly string[]
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
    const { totalBytes, weightsBytes } = await model.memory()
    log(
      `${name ?? model.model.id}: ${bytesText(totalBytes)} in memory, ${bytesText(weightsBytes)} of weights`,
    )
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
    `--${flag} applies to one model but ${count} are given; serve that model separately, on another --port`,
    { name: about },
  )
}

const sameName = (id: string) =>
  new HalfbyteError('unsupported', `two models are called ${id}; name one with --model name=FILE`, {
    name: id,
  })
