// Script of the ONNX reader. The reader, told to the engine that loads the script.
import { tellReader } from '../formats/readers.ts'
import * as reader from './open-model.ts'

tellReader('ONNX', reader)
