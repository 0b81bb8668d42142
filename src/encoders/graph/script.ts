// The script dist/readers/encoders.js, which an embedder imports to load an encoder from an ONNX graph.
import { tellReader } from '../../core/formats/readers.ts'
import * as reader from './open-graph-encoder.ts'

tellReader('ONNX encoders', reader)
