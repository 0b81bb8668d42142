// The rare families, for tests that name families without opening a file. Registers all families before each
// test file.
import { addRareFamilies } from '../../src/core/arch/families.ts'
import * as table from '../../src/core/arch/rare/table.ts'

addRareFamilies(table)
