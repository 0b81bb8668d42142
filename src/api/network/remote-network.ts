// A network in a worker of this page: the page's side of it.
import type { Remote } from 'comlink'
import type { LoadedNetwork } from '../../engine/network/load-network.ts'
import type {
  NetworkInfo,
  NetworkRequest,
  NetworkService,
  WithMemory,
} from '../../engine/network/network-protocol.ts'
import { EngineClient, type LoadHooks } from '../../engine/wire/client.ts'
import type { Connection } from '../../engine/wire/connection.ts'

export { startNetworkWorker } from '../../engine/wire/network-script.ts'

/** Loads a network at the other end of the connection, which is closed if that fails. */
export async function loadRemotely(
  connection: Connection,
  request: NetworkRequest,
  hooks: LoadHooks,
): Promise<LoadedNetwork> {
  const client = new EngineClient(connection)
  try {
    // The service of a network answers with what it has loaded.
    const loaded: unknown = await client.load(request, hooks)
    const { memory, foreign, ...info } = loaded as WithMemory<NetworkInfo>
    let latest = { memory, foreign }
    return {
      info,
      async run(inputs, signal) {
        const { outputs, ...told } = await client.callAbortable(signal, (service, port) =>
          networkOf(service).run([...inputs], port),
        )
        latest = told
        return new Map(outputs)
      },
      memory: () => latest.memory,
      foreign: () => latest.foreign,
      dispose: () => client.dispose(),
    }
  } catch (error) {
    client.close()
    throw error
  }
}

/** The service at the other end of a network's connection. */
const networkOf = (service: unknown): Remote<NetworkService> => service as Remote<NetworkService>
