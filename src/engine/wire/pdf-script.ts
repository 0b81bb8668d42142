// Starts the worker that reads PDFs.
import { startWorker } from './script.ts'

/** Starts the worker from the script at `address` if given. Throws the errors of `new Worker`. */
export const startPdfWorker = (address?: string): Worker =>
  startWorker(
    address,
    () => new Worker(new URL('../../../workers/pdf.worker.ts', import.meta.url), { type: 'module' }),
  )
