// The script dist/readers/encoders.js, which hands encoders in ONNX graphs to the embedder that loads one.
import { tellReader } from '../../core/formats/readers.ts'
import * as reader from './open-graph-encoder.ts'

tellReader('ONNX encoders', reader)
