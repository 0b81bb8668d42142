module.exports = (app) => {
  app.use((_request, response, next) => {
    if (process.env.ISOLATION === 'on') {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp')
    }
    next()
  })
}
