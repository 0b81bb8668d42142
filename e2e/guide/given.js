// What the manual's blocks use but do not declare, as given.d.ts declares it. In: the names that a block
// uses, in `globalThis.used`. Out: those names as global variables.

const from = (name, module) => async () => (await import(module))[name]
const engine = from('Engine', 'halfbyte')
const encoder = from('Embedder', 'halfbyte/embedder')

const load = async () => (await engine()).load('/models/talking.gguf')

/** A conversation with one answer. */
const talked = async () => {
  const session = (await load()).createSession()
  await session.send('Hello', { maxTokens: 8 }).result
  return session
}

const picture = async () => {
  const canvas = new OffscreenCanvas(32, 24)
  canvas.getContext('2d').fillRect(4, 4, 8, 8)
  return new File([await canvas.convertToBlob({ type: 'image/png' })], 'picture.png')
}

const widget = async () => {
  await import('halfbyte/widget')
  const chat = document.createElement('halfbyte-chat')
  document.body.append(chat)
  return chat
}

const weather = {
  name: 'weather',
  parameters: { type: 'object', properties: { city: { enum: ['Oslo'] } }, required: ['city'] },
}

/** Functions that make the variables. */
const GIVEN = {
  Engine: engine,
  isHalfbyteError: from('isHalfbyteError', 'halfbyte'),
  interruptedLoads: from('interruptedLoads', 'halfbyte'),
  Embedder: encoder,
  Network: from('Network', 'halfbyte/network'),
  openai: from('openai', 'halfbyte/openai'),
  openaiFetch: from('openaiFetch', 'halfbyte/openai'),
  promptApi: from('promptApi', 'halfbyte/prompt-api'),
  OpenAI: from('default', 'openai'),
  engine: load,
  session: talked,
  onProgress: () => () => undefined,
  embedder: async () => (await encoder()).load('/models/all-MiniLM-L6-v2/'),
  reranker: async () => (await encoder()).load('/models/ms-marco-MiniLM-L6-v2/'),
  chat: widget,
  address: () => '/models/talking.gguf',
  url: () => '/models/talking.gguf',
  model: () => '/models/talking.gguf',
  file: picture,
  texts: () => ['a cat', 'a dog'],
  passages: () => ['the cat', 'a river', 'the sea', 'a giraffe'],
  tools: () => [weather],
  messages: () => [{ role: 'user', content: 'Hello' }],
  initialPrompts: () => [{ role: 'user', content: 'Hello' }],
  makeRoom: () => async () => undefined,
  show: () => (text) => document.body.append(text),
  showThought: () => () => undefined,
  showAnswer: () => () => undefined,
  weatherOf: () => (city) => ({ city, sky: 'clear' }),
}

for (const name of Object.keys(GIVEN).filter((name) => globalThis.used.includes(name)))
  globalThis[name] = await GIVEN[name]()
