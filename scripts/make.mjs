// Makes packs of real models for the chat page; without a name it lists them. Runs under Node 20 too.
import { requirePinnedNode } from './pinned-node.mjs'

requirePinnedNode()
const { main } = await import('./make/main.ts')
process.exitCode = await main(process.argv.slice(2))
