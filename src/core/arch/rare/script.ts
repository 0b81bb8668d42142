// The script dist/readers/families.js, which passes the rare families to the engine that loads it.
import { tellReader } from '../../formats/readers.ts'
import * as table from './table.ts'

tellReader('further families', table)
