'use client'
import { useState } from 'react'
import { Chat } from './chat.jsx'

export function Panel() {
  const [isOpen, setIsOpen] = useState(true)
  return (
    <>
      <button type="button" onClick={() => setIsOpen(!isOpen)}>
        {isOpen ? 'Close the chat' : 'Open the chat'}
      </button>
      {isOpen && <Chat />}
    </>
  )
}
