// The page's side of a network that runs in a worker of this page.
import type { Remote } from 'comlink'
import { EngineClient, type LoadHooks } from '../../engine/wire/client.ts'
import type { Connection } from '../../engine/wire/connection.ts'
import type { LoadedNetwork } from '../service/build-network.ts'
import type { NetworkInfo, NetworkRequest, NetworkService, WithMemory } from '../service/network-protocol.ts'

export { startNetworkWorker } from '../../engine/wire/network-script.ts'

/** How long (ms) a worker may take to answer an abort; it checks for one between two parts of a run. */
const STOP_MS = 5000

/** Loads a network at the other end of the connection, which is closed if that fails. */
export async function loadRemotely(
  connection: Connection,
  request: NetworkRequest,
  hooks: LoadHooks,
): Promise<LoadedNetwork> {
  const client = new EngineClient(connection)
  try {
    // A network's service answers with a description of what it has loaded.
    const loaded: unknown = await client.load(request, hooks)
    const { memory, foreign, ...info } = loaded as WithMemory<NetworkInfo>
    let latest = { memory, foreign }
    /** Runs in the order in which they were requested. */
    const asked = new Set<Promise<unknown>>()
    return {
      info,
      async run(inputs, signal) {
        let own: Promise<unknown> | undefined
        try {
          const ask = (service: unknown, port?: MessagePort) => {
            const made = networkOf(service).run([...inputs], port)
            own = made.catch(() => undefined).finally(() => asked.delete(own!))
            asked.add(own)
            return made
          }
          // A channel for each run would take longer than a small network.
          const { outputs, ...told } = await (signal === undefined
            ? client.call(ask)
            : client.callAbortable(signal, ask))
          latest = told
          return new Map(outputs)
        } finally {
          // The previous run may still be in progress, and its result still wanted.
          const [running] = asked
          if (signal?.aborted === true && own !== undefined && own === running)
            void client.endUnless(own, STOP_MS)
        }
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
