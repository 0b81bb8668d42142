// Times a vision tower of SmolVLM's shape with random weights, as a whole and op by op.
//
//   node lab/bench/vision/main.ts [threads]     processor time in ms, the minimum of five runs
import { blobSource } from '../../../src/core/base/bytes.ts'
import { openFiles } from '../../../src/core/formats/open-files.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import { InputRows } from '../../../src/core/generate/schedule/input-rows.ts'
import { openPool, openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { SequenceState } from '../../../src/core/state/sequence-state.ts'
import { cutPicture } from '../../../src/core/vision/cut-picture.ts'
import { ggufTower } from '../../../src/core/vision/gguf-tower.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { ENGINE_TOOLS } from '../../../src/engine/load/open/open-vision.ts'
import { placeModel } from '../../../src/engine/load/place-model.ts'
import { Vision } from '../../../src/engine/load/vision/vision.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { randomTower, type TowerShape, towerFile } from '../../../test/conformance/vision/random-tower.ts'

/** SmolVLM-256M: SigLIP base, tiles of 512 pixels, 16 rows of the tower per row of the model. */
const SHAPE: TowerShape = {
  projector: 'idefics3',
  grid: 32,
  patch: 16,
  merge: 4,
  heads: 12,
  headDim: 64,
  inner: 3072,
  layers: 12,
  width: 576,
  activation: 'gelu',
  ...{ window: 4, pattern: 1 },
}
const PATCHES = SHAPE.grid ** 2
const PATCH_WIDTH = 3 * SHAPE.patch ** 2
const RUNS = 5
const threads = Number(process.argv[2] ?? 1)

const host = nodeHost()
const opened = await openFiles([blobSource('tower.gguf', await towerFile(randomTower(4, SHAPE)))], host)
for (const weights of ['w8', 'f32'] as const) await timeTower(opened, weights)
timeCutting(opened)
process.exit()

async function timeTower(file: ModelFile, weights: 'w8' | 'f32'): Promise<void> {
  const vision = new Vision(file, ENGINE_TOOLS, {
    weights,
    modelPlan: { hidden: SHAPE, tokens: 256, stateGroups: [] },
  })
  const runtime = await openRuntime({ host, build: 'auto', threads, ...memoryNeed(...vision.models) })
  const inputs = new InputRows(PATCH_WIDTH)
  const { step, cache, plan, written } = await placeModel(runtime.arena, vision.models[0], {}, { inputs })
  const pool = await openPool(runtime, { host, threads, probe: () => undefined })
  const words = inputs.wordsOf('00000000', PATCHES)
  inputs.hold(
    '00000000',
    Float32Array.from({ length: PATCHES * PATCH_WIDTH }, (_, i) => Math.sin(i)),
  )
  const least = plan.ops.map(() => Number.POSITIVE_INFINITY)
  for (let run = 0; run < RUNS; run++) {
    const state = new SequenceState(cache)
    state.reserve(PATCHES)
    step.begin()
    step.addSequence(state)
    for (const word of words) step.addToken(word, false)
    step.finish()
    for (let op = 0; op < plan.ops.length; op++) {
      const ms = processorTime(() => pool.run(written.records, step.step, op, op + 1))
      least[op] = Math.min(least[op]!, ms)
    }
    state.release()
  }
  pool.dispose()
  const kinds = new Map<string, number>()
  for (const [op, { name, label }] of plan.ops.entries()) {
    const kind = `${name} ${label.replace(/layers\.\d+\./, '').replace(/ .*/, '')}`
    kinds.set(kind, (kinds.get(kind) ?? 0) + least[op]!)
  }
  const total = least.reduce((sum, ms) => sum + ms, 0)
  console.log(`${weights}, ${threads} threads, ${runtime.build}: ${total.toFixed(0)} ms per tile`)
  for (const [kind, ms] of [...kinds].sort((a, b) => b[1] - a[1]).slice(0, 8))
    console.log(`  ${kind.padEnd(36)} ${ms.toFixed(0).padStart(6)} ms  ${((100 * ms) / total).toFixed(0)} %`)
}

/** Crops a photograph of 12 megapixels into tiles. */
function timeCutting(file: ModelFile): void {
  const width = 4000
  const height = 3000
  const data = new Uint8ClampedArray(width * height * 4).map((_, at) => at * 2654435761)
  let ms = Number.POSITIVE_INFINITY
  let tiles = 0
  for (let run = 0; run < RUNS; run++)
    ms = Math.min(
      ms,
      processorTime(() => {
        tiles = cutPicture(ggufTower(file), { width, height, data }).tiles.length
      }),
    )
  console.log(`cropping ${width} x ${height} pixels into ${tiles} tiles: ${ms.toFixed(0)} ms`)
}

function processorTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
