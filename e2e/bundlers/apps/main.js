// A page's own code. In: the address of a model, options. Out: replies, and how they were computed.
import { Engine } from 'halfbyte'
import { defined } from 'halfbyte/widget'

globalThis.run = async (address, { prompt, reply, ...options }) => {
  const engine = await Engine.load(address, { ...options, cache: 'none' })
  try {
    const text = await engine.createSession().send(prompt, reply).text()
    // Constraints need a part of the library that is loaded at this point.
    const choice = await engine
      .createSession()
      .send(prompt, { choices: ['this and nothing else'] })
      .text()
    return { text, choice, threads: engine.threads, pool: engine.pool, build: engine.build }
  } finally {
    await engine.dispose()
  }
}

// The reader for this format is also a separate part of the library.
globalThis.complete = async (address, { prompt, reply }) => {
  const engine = await Engine.load(address, { threads: 1, cache: 'none' })
  try {
    return (await engine.complete(prompt, reply).result).text
  } finally {
    await engine.dispose()
  }
}

globalThis.ask = async (address, { prompt, reply }) => {
  await defined
  const chat = document.createElement('halfbyte-chat')
  Object.assign(chat, { model: address, loadOptions: { cache: 'none' }, generateOptions: reply })
  document.body.append(chat)
  const answer = new Promise((resolve) =>
    chat.addEventListener('halfbyte-message', ({ detail: { role, content } }) => {
      if (role === 'assistant') resolve(content)
    }),
  )
  await chat.load()
  chat.send(prompt)
  return answer
}
