// Slow engine worker. In: what an engine worker is told. Out: the same, every tile of its own thread three times.
import { slowDown } from './slow.ts'

slowDown(3)
await import('../../workers/engine.worker.ts')
