// Toy engines for tests. In: a toy model. Out: an engine over the real service, protocol and client, in one
// thread, disposed after its test.
import { expect, onTestFinished } from 'vitest'
import { createService } from '../../service.ts'
import { type ToyModel, toyModel } from '../../testing/toy-model.ts'
import { type Connection, localConnection } from '../../wire/connection.ts'
import { Engine } from '../engine.ts'

export const GREEDY = { temperature: 0 } as const
/** The number of drafts depends on timing. */
export const PLAIN = { ...GREEDY, speculation: 'off' } as const

export async function openToy(toy: ToyModel = toyModel()): Promise<Engine> {
  return (await connectToy(toy)).engine
}

/** Like `toyEngine`, with a connection that can be closed. */
export async function connectToy(
  toy: ToyModel = toyModel(),
): Promise<{ readonly engine: Engine; readonly connection: Connection }> {
  const connection = localConnection(createService(async () => toy))
  const engine = await Engine.open(connection, 'toy')
  onTestFinished(() => engine.dispose())
  return { engine, connection }
}

/** The error that a promise rejects with. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
