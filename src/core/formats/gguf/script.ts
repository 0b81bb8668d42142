// The script dist/readers/gguf.js, which passes the GGUF reader to the engine that loads it.
import { tellReader } from '../readers.ts'
import * as reader from './open-gguf.ts'

tellReader('GGUF', reader)
