// `halfbyte/network` in Node, where networks run in this process. The package's export condition `node`
// selects this file.
import { Network } from './network/api/network.ts'
import { loadNetwork } from './tools/cli/models/node-models.ts'

Object.assign(Network, { load: loadNetwork })

export * from './network/api/network.ts'
