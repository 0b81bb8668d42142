// The script dist/readers/onnx.js, which provides the ONNX reader to the engine that loads it.
import { tellReader } from '../../core/formats/readers.ts'
import * as reader from './open-model.ts'

tellReader('ONNX', reader)
