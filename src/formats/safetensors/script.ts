// Script of the safetensors reader. The reader, told to the engine that loads the script.
import { tellReader } from '../readers.ts'
import * as reader from './open-safetensors.ts'

tellReader('safetensors', reader)
