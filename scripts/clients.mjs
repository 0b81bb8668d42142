// Installs the clients of e2e/clients, those in Python too if there is one, and runs their tests on a built
// dist.
//
// npm run test:clients -- -g "AI SDK" runs those whose title has the words. They are not part of npm test,
// because the clients are many packages.
import { testInstalled } from './installed-tests.mjs'
import { installPythonClients } from './python-clients.mjs'

const { python, missing } = installPythonClients()
process.env.HALFBYTE_CLIENTS_PYTHON = python ?? ''
process.env.HALFBYTE_CLIENTS_MISSING = missing ?? ''
testInstalled('e2e/clients')
