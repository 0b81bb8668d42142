// Target: images and vision towers. In: PNG and JPEG files, sizes and tilings, and mmproj files of every
// projector, changed. Out: the tiles that a tower reads, and for some towers their rows.
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { HalfbyteError } from '../../../src/core/base/errors.ts'
import { openFiles } from '../../../src/core/formats/open-files.ts'
import { checkPicture } from '../../../src/core/formats/pictures/check-picture.ts'
import type { Pixels } from '../../../src/core/formats/pixels.ts'
import { openPool, openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import { type CutPicture, type CutRules, cutPicture } from '../../../src/core/vision/cut-picture.ts'
import { pixelRange } from '../../../src/core/vision/whole-picture.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { ENGINE_TOOLS } from '../../../src/engine/load/open/open-vision.ts'
import { decodePicture } from '../../../src/engine/load/vision/decode-picture.ts'
import { Vision } from '../../../src/engine/load/vision/vision.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { randomTower, towerFile } from '../../conformance/vision/random-tower.ts'
import { type GgufLayout, layoutOf } from '../gguf-layout.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { drawJpeg, drawPng, jpegs } from '../mutate/picture-files.ts'
import type { Target } from '../target.ts'

/** Share of the planned towers that run. */
const RUN = 1 / 40
const SIDES = [1, 2, 3, 7, 27, 28, 29, 100, 255, 256, 257, 1000, 4096, 16_383, 16_384, 16_385]
const CUTS = ['tiles', 'padded', 'cropped', 'stretched', 'whole'] as const
const MAX_DRAWN = 1 << 17

interface Good {
  readonly layout: GgufLayout
  readonly width: number
}

export async function openTarget(): Promise<Target> {
  const towers: Good[] = []
  for (let seed = 0; seed < 15; seed++) {
    const model = randomTower(seed, { layers: 1 })
    const bytes = new Uint8Array(await (await towerFile(model)).arrayBuffer())
    towers.push({ layout: layoutOf(bytes), width: model.shape.width })
  }
  const goods = jpegs()
  return {
    draw(random): Input {
      if (random.chance(0.35)) return { kind: 'picture', cut: random.pick(CUTS), bytes: drawPng(random) }
      if (random.chance(0.5))
        return { kind: 'picture', cut: random.pick(CUTS), bytes: drawJpeg(random, goods) }
      if (random.chance(0.2)) {
        const width = random.pick(SIDES)
        const fitting = SIDES.filter((side) => side * width <= MAX_DRAWN)
        return { kind: 'sizes', cut: random.pick(CUTS), width: `${width}`, height: `${random.pick(fitting)}` }
      }
      const { layout, width } = random.pick(towers)
      const bytes = mutateBytes(random, layout.bytes, layout.fields, layout.headBytes)
      return { kind: 'tower', bytes, width: `${width}`, depth: random.chance(RUN) ? 'run' : 'plan' }
    },
    run,
  }
}

function run(input: Input): Promise<string> | string {
  switch (textOf(input, 'kind')) {
    case 'picture':
      return readPicture(bytesOf(input, 'bytes'), rulesOf(textOf(input, 'cut')))
    case 'sizes': {
      const [width, height] = [Number(textOf(input, 'width')), Number(textOf(input, 'height'))]
      const data = new Uint8ClampedArray(4 * width * height).fill(99)
      checkCut(cutPicture(rulesOf(textOf(input, 'cut')), { width, height, data }))
      return 'cut'
    }
    default:
      return readTower(bytesOf(input, 'bytes'), Number(textOf(input, 'width')), textOf(input, 'depth'))
  }
}

/** Smaller versions of real models' sizes. */
const rulesOf = (cut: string): CutRules => ({
  ...{ cut: cut as CutRules['cut'], projector: 'idefics3', filter: cut === 'tiles' ? 'lanczos' : 'bicubic' },
  ...{ imageSize: 56, patchSize: 14, merge: 2, mean: [0.5, 0.4, 0.3], longestEdge: 224, shortestEdge: 60 },
  ...(cut === 'whole' && pixelRange({ patchSize: 14, merge: 2 }, [3136, 200_704])),
})

/** The engine reports a reason without a class as `format`; any other class is a finding. */
function readPicture(bytes: Uint8Array, rules: CutRules): string {
  let pixels: Pixels
  try {
    pixels = decodePicture(bytes)
  } catch (cause) {
    if ((cause as Error).constructor !== Error) throw cause
    throw new HalfbyteError('format', (cause as Error).message, {}, { cause })
  }
  // Any image that decodes here passes the page's check.
  checkPicture(bytes)
  checkCut(cutPicture(rules, pixels))
  return 'picture'
}

/** A tower uses every tile unchanged. */
function checkCut({ tiles, parts }: CutPicture): void {
  const wrong = tiles.find(({ width, height, data }) => data.length !== width * height * 3)
  if (wrong !== undefined) throw new TypeError(`a tile of ${wrong.width} x ${wrong.height}`)
  const named = parts.filter((part) => typeof part === 'number')
  if (named.length !== tiles.length) throw new TypeError(`${named.length} of ${tiles.length} tiles are named`)
}

async function readTower(bytes: Uint8Array, width: number, depth: string): Promise<string> {
  const host = nodeHost()
  const opened = await openFiles([bufferSource('mmproj.gguf', bytes)], host)
  const modelPlan = { hidden: { width }, tokens: 256, stateGroups: [] }
  const tower = new Vision(opened, ENGINE_TOOLS, { weights: 'auto', modelPlan })
  const need = memoryNeed(...tower.models)
  if (depth !== 'run') return 'planned'
  const runtime = await openRuntime({ host, build: 'relaxed', threads: 1, ...need })
  await tower.place(runtime.arena, {})
  const pool = await openPool(runtime, { host, threads: 1, probe: () => undefined })
  try {
    const data = new Uint8ClampedArray(20 * 14 * 4).fill(99)
    const [tile] = cutPicture(tower.rules, { width: 20, height: 14, data }).tiles
    const rows = tower.encode(pool, tower.patches(tile!), tile)
    return rows.every(Number.isFinite) ? 'ran' : 'ran, not finite'
  } finally {
    pool.dispose()
  }
}
