// An Angular application whose page runs the code shared by all apps.
import { Component } from '@angular/core'
import { bootstrapApplication } from '@angular/platform-browser'
import '../main.js'

@Component({ selector: 'app-root', template: '<h1>{{ title }}</h1>' })
class App {
  readonly title = 'App'
}

bootstrapApplication(App)
