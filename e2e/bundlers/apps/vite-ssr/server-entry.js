// What the server renders: an answer of the model in the package.
import { Engine } from 'halfbyte'
// A component may import the widget on the server, where it does nothing.
import 'halfbyte/widget'

const reply = { temperature: 0, repeatPenalty: 1, maxTokens: 40 }
let loading

export async function render() {
  loading ??= Engine.load('embedded')
  return (await loading).createSession().send('Tell me a story.', reply).text()
}
