// Chooses the model that answers a request, and the name under which it answers.
import { readFrom, shown } from '../../core/base/check-options.ts'
import { isObject } from '../../core/base/values.ts'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { checkEmbedder, checkEngine, checkModel, isEmbedder } from '../load-once.ts'
import { UnknownModel } from './error-answer.ts'

/** Engines by the model names that requests use. A single engine answers to any name. */
export type NamedEngines = { readonly [name: string]: Engine }

type Model = Engine | Embedder
export type Task = 'chat' | 'embed' | 'rerank'

interface Encoders {
  readonly embedder: Embedder | undefined
  readonly reranker: Embedder | undefined
}

export interface Models {
  /** All models by their names. */
  readonly byId: ReadonlyMap<string, Model>
  /** The model for a request whose field `model` is `name`. Throws `UnknownModel`. */
  for(task: Task, name: unknown): Model
}

/** Throws `unsupported` for anything but engines and embedders. */
export function servedModels(
  given: Engine | Embedder | NamedEngines,
  { embedder, reranker }: Encoders,
): Models {
  for (const each of [embedder, reranker]) if (each !== undefined) checkEmbedder(each)
  const several = namedEngines(given)
  const [model] = several ?? [given as Model]
  checkModel(model)
  const byTask = { chat: model, embed: embedder ?? model, rerank: reranker ?? model } as Record<Task, Model>
  const all = [...(several ?? []), ...Object.values(byTask)]
  const isSingle = several === undefined || several.length === 1
  const byId = new Map(all.map((each) => [each.model.id, each]))
  return {
    byId,
    for(task, name) {
      if (isSingle || name === undefined) return byTask[task]
      const found = byId.get(name as string)
      if (found !== undefined) return found
      throw new UnknownModel(shown(name), [...byId.keys()])
    },
  }
}

/** Undefined for a single model. */
function namedEngines(given: Engine | Embedder | NamedEngines): Engine[] | undefined {
  return readFrom('the engines', () => {
    const entries = !isObject(given) || isModel(given) ? [] : Object.entries(given as NamedEngines)
    if (entries.length === 0) return undefined
    for (const [, engine] of entries) checkEngine(engine)
    return entries.map(([name, engine]) => renamed(engine, name))
  })
}

/** An object of engines may contain a name that is also the name of a method. */
const isModel = (given: object): boolean =>
  isEmbedder(given as Embedder) || typeof (given as Partial<Engine>).createSession === 'function'

/** The same engine under another name. */
const renamed = (engine: Engine, id: string): Engine =>
  engine.model.id === id
    ? engine
    : Object.create(engine, { model: { value: { ...engine.model, id }, enumerable: true } })
