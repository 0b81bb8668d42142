// Measures the cost of hostile and large images, each in its own process.
//
//   node lab/bench/vision/bombs.ts     processor time in ms and the memory added to the process in MB
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { encode as encodeJpeg } from 'jpeg-js'
import { reasonOf } from '../../../src/core/base/errors.ts'
import { type CutRules, cutPicture } from '../../../src/core/vision/cut-picture.ts'
import { decodePicture } from '../../../src/engine/load/vision/decode-picture.ts'
import { CORPUS } from '../../../test/fuzz/corpus/vision.ts'
import { type Input, textOf } from '../../../test/fuzz/input.ts'
import { pngOf } from '../../../test/fuzz/mutate/picture-files.ts'

/** LLaVA 1.5's square, and SmolVLM's tiles. */
const RULES: Omit<CutRules, 'cut'> = {
  ...{ projector: 'mlp', filter: 'bicubic', imageSize: 336, patchSize: 14, merge: 1 },
  ...{ mean: [0.5, 0.5, 0.5], longestEdge: 1344, shortestEdge: 336 },
}

/** Bytes without a pattern, which do not compress with any filter. */
const noise = (count: number) => {
  const words = new Uint32Array(Math.ceil(count / 4))
  let state = 1
  for (let at = 0; at < words.length; at++) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223
    words[at] = state
  }
  return new Uint8Array(words.buffer, 0, count)
}

function noisyPng(width: number, height: number): Uint8Array {
  const rows = noise((3 * width + 1) * height)
  // The Paeth filter takes longest.
  for (let at = 0; at < rows.length; at += 3 * width + 1) rows[at] = 4
  return pngOf(width, height, [['IDAT', deflateSync(rows, { level: 1 })]])
}

const photo = (width: number, height: number) => {
  const data = Buffer.alloc(4 * width * height)
  for (let at = 0; at < data.length; at++) data[at] = 128 + 90 * Math.sin(at / 4 / 37) + (at % 13)
  return new Uint8Array(encodeJpeg({ width, height, data }, 88).data)
}

const file = (bytes: Uint8Array): Input => ({ kind: 'picture', cut: 'tiles', bytes })
const CASES: readonly (readonly [title: string, input: () => Input | Promise<Input>])[] = [
  ...CORPUS.map(({ title, input }) => [title, input] as const),
  [
    'a PNG of one pixel whose data inflate to 2 GB',
    () => file(pngOf(1, 1, [['IDAT', deflateSync(Buffer.alloc(2 ** 31 - 1))]])),
  ],
  ['a JPEG of 12 megapixels', () => file(photo(4000, 3000))],
  ['a JPEG of 67 megapixels', () => file(photo(8192, 8192))],
  ['a PNG of 12 megapixels of noise', () => file(noisyPng(4000, 3000))],
  ['a PNG of 67 megapixels of noise', () => file(noisyPng(8192, 8192))],
]

const [given] = process.argv.slice(2)
if (given === undefined)
  for (const [title, input] of CASES) console.log(`${title}: ${measured(await input())}`)
else measure(JSON.parse(readFileSync(join(given, 'input.json'), 'utf8')), join(given, 'bytes'))

/** The measuring process gets a file, so that creating the image is not counted. */
function measured({ bytes, ...input }: Input): string {
  const folder = mkdtempSync(join(tmpdir(), 'halfbyte-bombs-'))
  try {
    writeFileSync(join(folder, 'input.json'), JSON.stringify(input))
    if (bytes instanceof Uint8Array) writeFileSync(join(folder, 'bytes'), bytes)
    const { stdout, stderr } = spawnSync(process.execPath, [import.meta.filename, folder], {
      encoding: 'utf8',
    })
    return stdout.trim() || stderr.slice(-300)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function measure(input: Input, path: string): void {
  const bytes = existsSync(path) ? new Uint8Array(readFileSync(path)) : undefined
  const [width, height] = [Number(input['width']), Number(input['height'])]
  const before = process.resourceUsage().maxRSS
  const start = process.cpuUsage()
  const said: string[] = []
  try {
    const cut = textOf(input, 'cut') as 'tiles'
    const pixels =
      bytes === undefined
        ? { width, height, data: new Uint8ClampedArray(4 * width * height) }
        : decodePicture(bytes)
    said.push(`decoded ${spent(start)} ms`)
    const { tiles } = cutPicture({ ...RULES, cut }, pixels)
    said.push(`and ${tiles.length} tiles ${spent(start)} ms`)
  } catch (error) {
    said.push(`${spent(start)} ms, rejected: ${reasonOf(error)}`)
  }
  const more = (process.resourceUsage().maxRSS - before) / 1e3
  console.log(`${said.join(' ')}, +${more.toFixed(0)} MB`)
}

function spent(start: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(start)
  return ((user + system) / 1000).toFixed(0)
}
