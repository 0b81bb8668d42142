// The public names in Node, where engines start like those of the command line. The package's export
// condition `node` selects this file.
import { startEnginesInThisProcess } from './tools/cli/node-engine.ts'

startEnginesInThisProcess()

export * from './index.ts'
// Instead of the functions for a page's storage.
export { makeRoom, storedBytes, storedFiles, unstore } from './tools/cli/store/node-stored.ts'
