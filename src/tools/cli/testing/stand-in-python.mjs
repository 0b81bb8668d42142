#!/usr/bin/env node
// Stands in for Python with torch in tests of `halfbyte tune`, on machines without it: it passes the check,
// and returns the weights unchanged. STAND_IN selects what else happens: torch is `missing`, Python is `old`,
// the trainer is `failing`, or `slow` until stdin ends.
import { readFileSync, writeFileSync } from 'node:fs'

const behaviour = process.env.STAND_IN ?? ''
const [first, ...others] = process.argv.slice(2)
const say = (event, values = {}) => console.log(JSON.stringify({ event, ...values }))
const fail = (line) => {
  console.error(`Traceback (most recent call last):\n${line}`)
  process.exit(1)
}

if (first === '-c') {
  if (behaviour === 'old') fail('it is Python 3.8, and 3.10 is the oldest that works')
  if (behaviour === 'missing') fail("ModuleNotFoundError: No module named 'torch'")
  console.log('Python 3.12.1 with torch 2.15.0')
} else {
  // The program must be where the command says.
  readFileSync(first)
  const job = JSON.parse(readFileSync(others[0], 'utf8'))
  const lines = readFileSync(job.train, 'utf8').trim().split('\n')
  const steps = job.epochs * Math.ceil(lines.length / job.batch)
  say('pace', { seconds: 2, step: 0 })
  if (behaviour === 'failing') fail("RuntimeError: DefaultCPUAllocator: can't allocate memory")
  if (behaviour === 'slow') {
    say('step', { step: 1, steps, loss: 3 })
    process.stdin.resume()
    process.stdin.on('end', () => {
      writeFileSync(job.checkpoint, 'stopped')
      say('stopped', { step: 1 })
      process.exit(0)
    })
    writeFileSync(job.checkpoint, 'training')
  } else {
    const curve = [{ event: 'held', step: 0, loss: 3 }]
    for (let step = 1; step <= steps; step++) curve.push({ event: 'step', step, loss: 3 / step })
    curve.push({ event: 'held', step: steps, loss: 1 })
    for (const { event, step, loss } of curve) say(event, { step, steps, loss })
    writeFileSync(job.output, readFileSync(job.weights))
    say('done', { curve })
  }
}
