// Commands of `halfbyte chat` on a conversation with a toy model.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GREEDY, openToy } from '../../../engine/api/testing/toy-engine.ts'
import { runChatCommand } from './chat-commands.ts'
import { Conversation } from './conversation.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-chat-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function talked(system?: string): Promise<Conversation> {
  const chat = new Conversation(await openToy(), { system, reply: GREEDY })
  await chat.say('hello').result
  return chat
}

/** What a command says. */
async function said(line: string, chat: Conversation): Promise<string> {
  const result = (await runChatCommand(line, chat))?.said
  if (typeof result !== 'string') throw new Error(`${line} says nothing`)
  return result
}

test('/reset forgets the messages', async () => {
  const chat = await talked()
  expect(chat.messages).toHaveLength(2)
  expect(await said('/reset', chat)).toBe('conversation cleared')
  expect(chat.messages).toEqual([])
})

test('/save writes the conversation, /load continues it, and the error for a path that cannot be written names it', async () => {
  const chat = await talked('be kind')
  const path = join(folder, 'chat.json')
  expect(await said(`/save ${path} `, chat)).toBe(`2 messages are in ${path}`)
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ system: 'be kind', messages: chat.messages })
  expect(await said('/save', chat)).toMatch(/needs a file/)
  await expect(runChatCommand(`/save ${folder}/none/chat.json`, chat)).rejects.toMatchObject({
    code: 'unsupported',
  })
  const other = new Conversation(await openToy(), { reply: GREEDY })
  expect(await said(`/load ${path}`, other)).toBe('2 messages loaded')
  expect([other.system, other.messages]).toEqual(['be kind', chat.messages])
  const [one, two] = await Promise.all([chat.say('again').result, other.say('again').result])
  expect(two.tokens).toEqual(one.tokens)
})

test.each([
  ['{}', 'format'],
  ['[]', 'format'],
  ['{"messages": [{"role": "nobody"}]}', 'format'],
  ['{"messages": [], "system": 7}', 'format'],
])('/load of %s leaves the conversation as it was', async (text, code) => {
  const chat = await talked('be kind')
  const path = join(folder, 'other.json')
  await writeFile(path, text)
  await expect(runChatCommand(`/load ${path}`, chat)).rejects.toMatchObject({ code })
  expect(chat.system).toBe('be kind')
  await chat.say('again').result
  expect(chat.messages).toHaveLength(4)
})

test('/retry replaces the last answer, and says so if there is none', async () => {
  const chat = await talked()
  const [, answer] = chat.messages
  const result = (await runChatCommand('/retry', chat))?.said
  if (result === undefined || typeof result === 'string') throw new Error('no answer')
  await result.result
  expect(chat.messages).toEqual([{ role: 'user', content: 'hello' }, answer])
  await chat.reset()
  await expect(runChatCommand('/retry', chat)).rejects.toMatchObject({ code: 'unsupported' })
})

test('/system shows, replaces and removes the system prompt, and keeps the messages', async () => {
  const chat = await talked()
  expect(await said('/system', chat)).toBe('there is no system prompt')
  await chat.say('again').result
  await runChatCommand('/system be kind to all', chat)
  expect(await said('/system', chat)).toBe('be kind to all')
  expect(chat.messages).toHaveLength(4)
  const { usage: steered } = await chat.retry().result
  await runChatCommand('/system -', chat)
  expect(chat.system).toBeUndefined()
  const { usage: plain } = await chat.retry().result
  expect(plain.promptTokens).toBeLessThan(steered.promptTokens)
})

test('/file goes before the next message only', async () => {
  const chat = await talked()
  const path = join(folder, 'notes.txt')
  await writeFile(path, 'a note')
  expect(await said(`/file ${path}`, chat)).toBe(`${path} goes with the next message`)
  await chat.say('what is this?').result
  await chat.say('and now?').result
  const asked = chat.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(asked).toEqual(['hello', 'notes.txt:\n```\na note\n```\n\nwhat is this?', 'and now?'])
  await expect(runChatCommand(`/file ${folder}/none.txt`, chat)).rejects.toMatchObject({ code: 'format' })
})

test('/stats counts the last answer', async () => {
  const chat = new Conversation(await openToy(), { reply: GREEDY })
  expect(await said('/stats', chat)).toMatch(/^context: 0 of \d+ tokens; nothing has been answered$/)
  const { usage } = await chat.say('hello').result
  const page = await said('/stats', chat)
  expect(page).toContain(`prompt: ${usage.promptTokens} tokens, 0 of them cached`)
  expect(page).toContain(`answer: ${usage.completionTokens} tokens`)
})

test('/help lists the commands, and an unknown command suggests it', async () => {
  const chat = await talked()
  const page = await said('/help', chat)
  for (const name of ['help', 'reset', 'retry', 'system', 'stats', 'file', 'save', 'load'])
    expect(page).toMatch(new RegExp(`^/${name}( [A-Z]+)? {2}`, 'm'))
  expect(await said('/constructor', chat)).toBe('there is no command /constructor; /help lists them')
})

test.each(['hello', ' /help', '/etc/passwd', '/usr is a folder', '/', 'a /reset', '/help\nme'])(
  '%j is a message',
  async (line) => {
    const chat = await talked()
    expect(await runChatCommand(line, chat)).toBeUndefined()
    expect(chat.messages).toHaveLength(2)
  },
)
