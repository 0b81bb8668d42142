// Waits for turns of the event loop. In: a number. Out: a promise that resolves after that many turns. Such a
// wait does not depend on the machine's load.

/** Between two turns, due tasks, messages and data from sockets are handled. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
