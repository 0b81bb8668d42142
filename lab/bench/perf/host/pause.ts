// Suspends processes until they are resumed, at the latest when this process exits.

const paused = new Set<number>()

/** Does nothing on Windows, which has no such signals. */
export function pauseAll(pids: readonly number[]): void {
  if (paused.size === 0) {
    for (const event of ['exit', 'SIGINT', 'SIGTERM'] as const) process.once(event, resumePaused)
  }
  for (const pid of pids) {
    if (send(pid, 'SIGSTOP')) paused.add(pid)
  }
}

export function resumeAll(pids: readonly number[]): void {
  for (const pid of pids) {
    send(pid, 'SIGCONT')
    paused.delete(pid)
  }
  if (paused.size > 0) return
  for (const event of ['exit', 'SIGINT', 'SIGTERM'] as const) process.off(event, resumePaused)
}

/** A suspended browser could not be closed. */
function resumePaused(): void {
  resumeAll([...paused])
}

function send(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
  if (process.platform === 'win32') return false
  try {
    return process.kill(pid, name)
  } catch {
    // The process has exited, as spare renderers do.
    return false
  }
}
