// Script of the GGUF reader. The reader, told to the engine that loads the script.
import { tellReader } from '../readers.ts'
import * as reader from './open-gguf.ts'

tellReader('GGUF', reader)
