// The script dist/readers/vision.js, which passes the vision code to the engine that loads it.
import { tellReader } from '../../../core/formats/readers.ts'
import * as reader from './vision.ts'

tellReader('vision', reader)
