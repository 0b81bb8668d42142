// The roofline's page: measures everything when the driver calls, and logs progress to the console.
import { runRoofline } from './run.ts'

declare global {
  interface Window {
    runRoofline: typeof runRoofline
  }
}
window.runRoofline = (url, effort) => {
  let last = ''
  const onProgress = (what: string) => {
    if (what !== last) console.log(`measuring ${what}`)
    last = what
  }
  return runRoofline(url, effort, { onProgress })
}
