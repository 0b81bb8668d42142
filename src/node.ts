// The public names in Node, where engines start as those of the command line do. The package's condition
// `node` leads here.
import { startEnginesInThisProcess } from './tools/cli/node-engine.ts'

startEnginesInThisProcess()

export * from './index.ts'
