// Target for the runner's own tests. In: a word. Out: the fault that it names.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { HalfbyteError } from '../../../src/core/base/errors.ts'
import { textOf } from '../input.ts'
import type { Target } from '../target.ts'

export async function openTarget(): Promise<Target> {
  return {
    // Every hundredth input throws. Its content includes its number.
    draw: (random) => ({ word: random.below(100) === 0 ? `throw ${'x'.repeat(random.below(50))}` : 'read' }),
    run: (input) => doAs(textOf(input, 'word')),
  }
}

async function doAs(word: string): Promise<string> {
  if (word.startsWith('throw')) throw new TypeError('x is not a function')
  if (word === 'typed') throw new HalfbyteError('format', 'it is damaged')
  if (word === 'internal') throw new HalfbyteError('internal', 'a plan is wrong')
  if (word === 'stray') {
    void Promise.reject(new RangeError('nobody waits for this'))
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (word === 'never') await new Promise(() => undefined)
  if (word === 'crash') process.exit(3)
  if (word === 'memory') new Uint8Array(200 << 20).fill(1)
  if (word === 'heap') for (const kept: unknown[] = []; ; ) kept.push(new Array(1 << 20).fill(0.5))
  if (word === 'halted') {
    spawn('sh', ['-c', `kill -STOP ${process.pid}; sleep 2.5; kill -CONT ${process.pid}`])
    await sleep(300)
  }
  while (word === 'hang');
  return 'read'
}
