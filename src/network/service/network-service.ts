// The service of a network: answers a page's calls for one graph.
import { transfer } from 'comlink'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import { abortable, loadReports } from '../../engine/serve.ts'
import type { LoadedNetwork } from './build-network.ts'
import type { NamedTensors, NetworkRequest, NetworkService } from './network-protocol.ts'

type NetworkLoader = (request: NetworkRequest, hooks: LoaderHooks) => Promise<LoadedNetwork>

/** A service without a network yet; `load` implements its `load` call. */
export function createNetworkService(load: NetworkLoader): NetworkService {
  let network: LoadedNetwork | undefined
  const open = (): LoadedNetwork => {
    if (network !== undefined) return network
    throw new HalfbyteError('disposed', 'this worker has no network; load one')
  }
  return {
    async load(request, port) {
      const reports = loadReports(port)
      network = await abortable(port, (signal) => load(request, { signal, ...reports }))
      return { ...network.info, memory: network.memory(), foreign: network.foreign() }
    },
    run(inputs, port) {
      const answer = async (signal?: AbortSignal) => {
        const outputs = [...(await open().run(new Map(inputs), signal))]
        return transfer({ outputs, memory: open().memory(), foreign: open().foreign() }, buffersOf(outputs))
      }
      return port === undefined ? answer() : abortable(port, answer)
    },
    async dispose() {
      const last = network
      network = undefined
      await last?.dispose()
    },
  }
}

/** Lists each buffer once, because two outputs may be the same tensor. */
const buffersOf = (tensors: NamedTensors): Transferable[] => [
  ...new Set(
    tensors.flatMap(([, tensor]) => (tensor.items ?? [tensor]).map(({ data }) => data.buffer as ArrayBuffer)),
  ),
]
