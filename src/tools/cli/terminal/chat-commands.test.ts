// Commands of `halfbyte chat` on a session of a toy model.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GREEDY, openToy } from '../../../engine/api/testing/toy-engine.ts'
import { runChatCommand } from './chat-commands.ts'

const talked = async () => {
  const session = (await openToy()).createSession()
  await session.send('hello', GREEDY).result
  return session
}

test('/reset forgets the messages', async () => {
  const session = await talked()
  expect(session.messages).toHaveLength(2)
  expect(await runChatCommand('/reset', session)).toBe('conversation cleared')
  expect(session.messages).toEqual([])
})

test('/save writes the conversation, and the error for a path that cannot be written names it', async () => {
  const session = await talked()
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-chat-'))
  const path = join(folder, 'chat.json')
  expect(await runChatCommand(`/save ${path} `, session)).toBe(`2 messages are in ${path}`)
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ messages: session.messages })
  expect(await runChatCommand('/save', session)).toMatch(/needs a file/)
  await expect(runChatCommand(`/save ${folder}/none/chat.json`, session)).rejects.toMatchObject({
    code: 'unsupported',
  })
  await rm(folder, { recursive: true })
})

test('/help lists the commands, and an unknown command suggests it', async () => {
  const session = await talked()
  expect(await runChatCommand('/help', session)).toMatch(/^\/help .*\n\/reset .*\n\/save FILE {2}/)
  expect(await runChatCommand('/constructor', session)).toBe(
    'there is no command /constructor; /help lists them',
  )
})

test.each(['hello', ' /help', '/etc/passwd', '/usr is a folder', '/', 'a /reset'])(
  '%s is a message',
  async (line) => {
    const session = await talked()
    expect(await runChatCommand(line, session)).toBeUndefined()
    expect(session.messages).toHaveLength(2)
  },
)
