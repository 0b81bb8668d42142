// The script dist/readers/safetensors.js, which passes the safetensors reader to the engine that loads it.
import { tellReader } from '../readers.ts'
import * as reader from './open-safetensors.ts'

tellReader('safetensors', reader)
