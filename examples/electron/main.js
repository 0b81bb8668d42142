// The main process. Its window shows the built page by a scheme of the application's own: a page of file: has
// no headers, so its threads could not share memory.
import { join } from 'node:path'
import { app, BrowserWindow, protocol } from 'electron'
import { answerFrom } from './answer.js'

const FOLDER = join(import.meta.dirname, 'dist')

// To be told before the app is ready. The scheme then counts as secure, as https: does.
protocol.registerSchemesAsPrivileged([
  { scheme: 'app', privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true } },
])

await app.whenReady()
protocol.handle('app', answerFrom(FOLDER))
// The engine is part of the page, so no preload script and no Node in the page are needed.
await new BrowserWindow().loadURL('app://bundle/')

app.on('window-all-closed', () => app.quit())
