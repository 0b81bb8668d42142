// In: a small model whose file is read without a pause. Out: whether messages are answered while its weights
// are loaded, and the fingerprint of its state.
import { expect, test } from 'vitest'
import { ggufFile } from '../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { storedConfig } from '../../core/arch/config/config-hbm.ts'
import { openModel } from '../../core/arch/open-model.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import { sha256 } from '../../core/base/sha256.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import { buildModel } from './build-model.ts'
import { modelFingerprint } from './load-weights.ts'
import { prepareModel } from './prepare.ts'

test('a message that arrives during a load is handled before the last weight is loaded', async () => {
  const bytes = new Uint8Array(await (await ggufFile(randomLlama({ seed: 3, layers: 6 }))).arrayBuffer())
  const prepared = await prepareModel(await openModel([bufferSource('a.gguf', bytes)]), { weights: 'w8' })
  const order: string[] = []
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => order.push('answer')
  const built = await buildModel(
    prepared,
    { threads: 1, build: 'auto', host: nodeHost() },
    {
      signal: new AbortController().signal,
      onProgress(progress) {
        if (progress.phase !== 'convert') return
        if (progress.done === 0) port2.postMessage('ping')
        order.push(progress.done === progress.total ? 'end' : 'weight')
      },
    },
  )
  port1.close()
  await built.dispose()
  expect(order.indexOf('answer')).toBeGreaterThan(0)
  expect(order.indexOf('answer')).toBeLessThan(order.indexOf('end'))
})

test('the fingerprint of state with fp8 values differs from that of earlier e4m3 codes, and other fingerprints are unchanged', async () => {
  const bytes = new Uint8Array(await (await ggufFile(randomLlama({ seed: 3 }))).arrayBuffer())
  const file = await openModel([bufferSource('a.gguf', bytes)])
  for (const v of ['f32', 'int8', 'fp8'] as const) {
    const { config, plan } = await prepareModel(file, { weights: 'w8', kvCache: { k: 'f32', v } })
    const { slots, stateGroups, slabBytes } = plan
    const form = JSON.stringify({ config: storedConfig(config), slots, stateGroups, slabBytes })
    const earlier = await sha256(new TextEncoder().encode(form))
    const now = await modelFingerprint(config, plan)
    if (v === 'fp8') expect(now).not.toBe(earlier)
    else expect(now).toBe(earlier)
  }
})
