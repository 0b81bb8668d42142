// Runs ONNX Runtime Web in a worker of the suite's page, as responsive pages do.
import type { LoadOrder, Run } from '../engines.ts'
import type { Loaded } from './main.ts'
import type { OrtAnswer, OrtRequest } from './ort.worker.ts'

export async function loadOrt(order: LoadOrder): Promise<Loaded> {
  const worker = new Worker(new URL('./ort.worker.ts', import.meta.url), { type: 'module' })
  await ask(worker, { type: 'load', order })
  return {
    async run(prompt, decode) {
      const { run } = await ask(worker, { type: 'run', prompt, decode })
      if (run === undefined) throw new Error('the worker sent no run')
      return run satisfies Run
    },
  }
}

function ask(worker: Worker, request: OrtRequest): Promise<OrtAnswer> {
  return new Promise((resolve, reject) => {
    worker.onerror = ({ message }) => reject(new Error(message || 'the worker failed'))
    worker.onmessage = ({ data }: MessageEvent<OrtAnswer>) =>
      data.failure === undefined ? resolve(data) : reject(new Error(data.failure))
    worker.postMessage(request)
  })
}
