import { reactRouter } from '@react-router/dev/vite'

const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

/** React Router sends its pages before Vite sets `server.headers`. */
const isolation = {
  name: 'isolation',
  configureServer({ middlewares }) {
    middlewares.use((_, response, next) => {
      if (process.env.ISOLATION === 'on') {
        for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
      }
      next()
    })
  },
}

export default {
  plugins: [isolation, reactRouter()],
  optimizeDeps: { exclude: ['halfbyte'] },
}
