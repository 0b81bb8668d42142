// `halfbyte/network` in Node, where networks run in this process. The package's condition `node` leads here.
import { Network } from './api/network/network.ts'
import { loadNetwork } from './cli/models/node-models.ts'

Object.assign(Network, { load: loadNetwork })

export * from './api/network/network.ts'
