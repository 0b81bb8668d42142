// The script dist/readers/vision.js, which hands sight to the engine that loads it.
import { tellReader } from '../../../core/formats/readers.ts'
import * as reader from './vision.ts'

tellReader('vision', reader)
