import { Engine } from 'halfbyte'
import model from 'halfbyte/models/halfbyte-stories.hbm?url'

const [status, failure, out] = ['[role=status]', '[role=alert]', '#out'].map((name) =>
  document.querySelector(name),
)
const form = document.querySelector('form')
const button = form.querySelector('button')
let session

async function load() {
  const engine = await Engine.load(model, {
    // The file is part of the app, so a stored copy would only take up space.
    cache: 'none',
    onProgress: ({ phase, loaded, total }) => {
      status.textContent = phase === 'download' ? `${loaded} of ${total} bytes` : phase
    },
  })
  status.textContent = `${engine.threads} threads`
  return engine.createSession()
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  failure.textContent = ''
  out.textContent = ''
  try {
    session ??= await load()
    const question = form.querySelector('input').value
    for await (const { text } of session.send(question, { maxTokens: 200 })) out.append(text)
  } catch (error) {
    failure.textContent = error.message
  } finally {
    button.disabled = false
  }
})
