// Toy engines for tests. In: a toy model. Out: an engine over the real service, wire and client, in one thread, gone after its test.
import { afterEach, expect } from 'vitest'
import { createService } from '../../engine/service.ts'
import { type ToyModel, toyModel } from '../../engine/testing/toy-model.ts'
import { type Connection, localConnection } from '../../engine/wire/connection.ts'
import { Engine } from '../engine.ts'

export const GREEDY = { temperature: 0 } as const
/** How much is drafted depends on time. */
export const PLAIN = { ...GREEDY, speculation: 'off' } as const

const opened: Engine[] = []

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.dispose()
})

export async function openToy(toy: ToyModel = toyModel()): Promise<Engine> {
  return (await connectToy(toy)).engine
}

/** The same with the connection, which can be cut. */
export async function connectToy(
  toy: ToyModel = toyModel(),
): Promise<{ readonly engine: Engine; readonly connection: Connection }> {
  const connection = localConnection(createService(async () => toy))
  const engine = await Engine.open(connection, 'toy')
  opened.push(engine)
  return { engine, connection }
}

/** What a promise rejects with. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
