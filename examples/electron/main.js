// The main process. Its window shows the built page through the application's own scheme: a file: page has no
// headers, so its threads could not share memory.
import { join } from 'node:path'
import { app, BrowserWindow, protocol } from 'electron'
import { answerFrom } from './answer.js'

const FOLDER = join(import.meta.dirname, 'dist')

// Must be called before the app is ready. The scheme then counts as secure, like https:.
protocol.registerSchemesAsPrivileged([
  { scheme: 'app', privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
])

await app.whenReady()
protocol.handle('app', answerFrom(FOLDER))
// The engine is part of the page, so the page needs neither a preload script nor Node.
await new BrowserWindow().loadURL('app://bundle/')

app.on('window-all-closed', () => app.quit())
