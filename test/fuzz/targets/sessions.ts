// Target: saved sessions. In: a saved session with a changed index and a correct hash, or with changed bytes.
// Out: the session restored, continued and closed, with all of its memory freed.
import { Engine } from '../../../src/engine/api/engine.ts'
import { createService } from '../../../src/engine/service.ts'
import { type ToyModel, toyModel } from '../../../src/engine/testing/toy-model.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { type Tree, textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { sealed, TRAILER_BYTES } from '../sessions.ts'
import type { Target } from '../target.ts'

/** One in this many is continued after it is restored. */
const SPOKEN = 1 / 4

interface Saved {
  readonly bytes: Uint8Array
  readonly blocks: Uint8Array
  readonly index: Tree
}

export async function openTarget(): Promise<Target> {
  const toy = toyModel()
  const engine = await Engine.open(localConnection(createService(async () => toy)), 'toy')
  const saved = [await savedSession(engine, 1), await savedSession(engine, 4)]
  const indexes = saved.map(({ index }) => index)
  return {
    draw(random) {
      const { bytes, blocks, index } = random.pick(saved)
      const session = random.chance(0.75)
        ? sealed(textOfTree(mutateJson(random, index, indexes)), blocks)
        : mutateBytes(
            random,
            bytes,
            [12, bytes.length - 12].map((at) => ({ at, bytes: 4 })),
          )
      return { session, depth: random.chance(SPOKEN) ? 'speak' : 'restore' }
    },
    run: (input) => run(input, engine, toy),
  }
}

async function run(input: Input, engine: Engine, toy: ToyModel): Promise<string> {
  const live = toy.liveBytes()
  const restored = await restore(input, engine).then(
    (outcome) => () => outcome,
    (error) => () => {
      throw error
    },
  )
  const kept = toy.liveBytes() - live
  if (kept > 0) throw new Error(`${kept} bytes of state were not freed`)
  return restored()
}

async function restore(input: Input, engine: Engine): Promise<string> {
  const file = new Blob([bytesOf(input, 'session') as Uint8Array<ArrayBuffer>])
  const session = await engine.restoreSession(file)
  try {
    if (textOf(input, 'depth') !== 'speak') return 'restored'
    await session.send('more', { temperature: 0, maxTokens: 4 }).result
    return 'spoken'
  } finally {
    await session.dispose()
  }
}

async function savedSession(engine: Engine, turns: number): Promise<Saved> {
  const session = engine.createSession({ system: 'Be brief.' })
  for (let turn = 0; turn < turns; turn++)
    await session.send(`hello ${turn} ${'x'.repeat(40)}`, { temperature: 0 }).result
  const bytes = new Uint8Array(await (await session.save()).arrayBuffer())
  await session.dispose()
  const length = new DataView(bytes.buffer).getUint32(bytes.length - 12, true)
  const start = bytes.length - TRAILER_BYTES - length
  const index = treeOf(JSON.parse(new TextDecoder().decode(bytes.subarray(start, start + length))))
  return { bytes, blocks: bytes.subarray(0, start), index }
}
