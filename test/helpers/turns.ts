// Turns. In: a number. Out: a promise that resolves after that many turns of the event loop, a wait that does
// not depend on the machine's load.

/** Tasks that are due, messages, and what sockets received are handled between two turns. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
