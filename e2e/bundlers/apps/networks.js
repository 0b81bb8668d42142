// Networks in a page. In: the address of a graph. Out: its outputs in the page, in a worker and on threads.
import { Network } from 'halfbyte/network'

globalThis.compute = async (address) => {
  const ids = (value) => ({ dtype: 'i64', dims: [1, 3], data: new BigInt64Array(3).fill(value) })
  const inputs = { input_ids: ids(5n), attention_mask: ids(1n), token_type_ids: ids(0n) }
  const outputs = []
  for (const options of [{ worker: false }, {}, { threads: 2 }]) {
    const network = await Network.load(address, { ...options, weights: 'w8', cache: 'none' })
    const { last_hidden_state } = await network.run(inputs)
    outputs.push([...last_hidden_state.data])
    await network.dispose()
  }
  return outputs
}
