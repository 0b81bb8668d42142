// Script of the safetensors reader. In: nothing. Out: the reader, told to the engine that loads the script.
import { tellReader } from '../told-readers.ts'
import * as reader from './open-safetensors.ts'

tellReader('safetensors', reader)
