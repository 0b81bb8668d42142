// Headers that isolate the page, so that threads share memory; it also runs without them. A static host must
// set them itself.
const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

export const handle = async ({ event, resolve }) => {
  const response = await resolve(event)
  if (process.env.ISOLATION === 'on') {
    for (const [name, value] of Object.entries(ISOLATION)) response.headers.set(name, value)
  }
  return response
}
