// Script of the ONNX reader. In: nothing. Out: the reader, told to the engine that loads the script.
import { tellReader } from '../formats/told-readers.ts'
import * as reader from './open-model.ts'

tellReader('ONNX', reader)
