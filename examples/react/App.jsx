import { useState } from 'react'
import { Chat } from './Chat.jsx'

export function App() {
  const [isOpen, setIsOpen] = useState(true)
  return (
    <main>
      <h1>React</h1>
      <button type="button" onClick={() => setIsOpen(!isOpen)}>
        {isOpen ? 'Close the chat' : 'Open the chat'}
      </button>
      {isOpen && <Chat />}
    </main>
  )
}
