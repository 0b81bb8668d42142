// Script of the GGUF reader. In: nothing. Out: the reader, told to the engine that loads the script.
import { tellReader } from '../told-readers.ts'
import * as reader from './open-gguf.ts'

tellReader('GGUF', reader)
