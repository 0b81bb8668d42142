// Slow compute worker. In: what a compute worker is told. Out: the same, every tile three times.
import { slowDown } from './slow.ts'

slowDown(3)
await import('../../workers/compute.worker.ts')
