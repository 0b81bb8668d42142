// npm run bench:state compares a cache of blocks with one that reallocates, and measures how much of a turn's
// time cached state saves, as tables.
import { cpus } from 'node:os'
import { Command } from 'commander'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import { modelFile } from '../model-file.ts'
import { needs } from '../needs.ts'
import { QWEN_05B, SHAPES } from '../shapes.ts'
import { growth } from './growth.ts'
import { reload } from './reload.ts'
import { turns } from './turns.ts'

const numbers = (text: string) => text.split(',').map(Number)
const FORMATS: Readonly<Record<string, KvFormat>> = {
  f32: { k: 'f32', v: 'f32' },
  int8: { k: 'int8', v: 'int8' },
}
export interface Options {
  readonly threads: number
  readonly repeats: number
  readonly positions: readonly number[]
  readonly from: number
  readonly grow: number
  readonly context: number
  readonly fresh: number
}
const { parts, kv, shape, ...options } = new Command('bench:state')
  .description('Times the state cache on random weights of a known shape: in Node, reloads in Chromium.')
  .option('--parts <list>', 'growth, turns, reload', (text) => text.split(','), ['growth', 'turns', 'reload'])
  .option('--shape <name>', SHAPES.map(({ name }) => name).join(', '), QWEN_05B.name)
  .option('--kv <format>', 'f32 or int8', 'f32')
  .option('--threads <n>', 'threads', Number, 1)
  .option('--repeats <n>', 'samples per figure', Number, 7)
  .option(
    '--positions <list>',
    'growth: positions to print',
    numbers,
    [
      10, 20, 30, 60, 64, 72, 78, 80, 82, 88, 96, 100, 108, 119, 120, 128, 140, 144, 160, 168, 180, 192,
    ].concat([200, 210, 216, 220, 240, 256, 280, 288, 300, 312, 320, 360, 384, 400]),
  )
  .option('--from <n>', 'growth: initial positions', Number, 0)
  .option('--grow <n>', 'growth: positions to add', Number, 401)
  .option('--context <n>', 'turns, reload: tokens of the conversation', Number, 2000)
  .option('--fresh <n>', 'turns, reload: letters of a new message', Number, 64)
  .parse()
  .opts<Options & { parts: string[]; kv: string; shape: string }>()

if (parts.includes('reload')) needs({ chromium: true })
const chosen = SHAPES.find(({ name }) => name === shape) ?? QWEN_05B
const file = await modelFile(chosen)
const kvCache = FORMATS[kv] ?? FORMATS.f32!
console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${chosen.name}, K ${kvCache.k}, V ${kvCache.v}, ` +
    `${options.threads} threads\n`,
)
if (parts.includes('growth')) await growth(file, kvCache, options)
if (parts.includes('turns')) await turns(file, kvCache, options)
if (parts.includes('reload')) await reload(file, kvCache, options)
