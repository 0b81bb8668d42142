// Styles: messages, the Markdown in them, calls and sources. In: the variables of base.ts. Out: a sheet of
// the element.
import { css } from 'lit'

export const messageStyles = css`
  .message {
    margin-block-end: 14px;
    overflow-wrap: anywhere;
  }
  .message.user {
    display: flex;
    justify-content: flex-end;
  }
  .message.user .body {
    max-width: 88%;
    padding: 8px 14px;
    border-radius: 18px;
    border-end-end-radius: 5px;
    background: var(--mine);
    color: var(--on-mine);
    white-space: pre-wrap;
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    gap: 2px;
    margin: 2px -8px 0;
  }
  .ending {
    margin-block-start: 4px;
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  .part > * + *,
  .part + .part > :first-child {
    margin-block-start: 0.7em;
  }
  .body h2,
  .body h3 {
    font-size: 1.0625em;
    line-height: 1.35;
  }
  .body h3 {
    font-size: 1em;
  }
  .body ul,
  .body ol {
    padding-inline-start: 1.5em;
  }
  .body li + li {
    margin-block-start: 0.25em;
  }
  blockquote {
    padding-inline-start: 12px;
    border-inline-start: 3px solid var(--line);
    color: var(--ink-soft);
  }
  .body hr {
    border: 0;
    border-block-start: 1px solid var(--line);
  }
  code,
  pre {
    font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace;
    font-size: 0.875em;
  }
  .body code {
    padding: 0.1em 0.3em;
    border-radius: 5px;
    background: var(--panel);
  }
  .code {
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
    overflow: hidden;
  }
  .code-head {
    display: flex;
    align-items: center;
    justify-content: space-between;
    padding-inline: 12px 4px;
    border-block-end: 1px solid var(--line);
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  .code-head button {
    font-size: 1em;
  }
  .code-head .done::after {
    content: '✓';
  }
  .body pre {
    padding: 10px 12px;
    overflow-x: auto;
    line-height: 1.5;
  }
  .body pre code {
    padding: 0;
    background: none;
    font-size: 1em;
    overflow-wrap: normal;
  }
  pre:focus-visible,
  .table:focus-visible {
    outline-offset: -2px;
  }
  .table {
    overflow-x: auto;
  }
  table {
    width: max-content;
    max-width: 160%;
    border-collapse: collapse;
    font-size: 0.9375em;
    line-height: 1.4;
  }
  th,
  td {
    padding: 5px 10px;
    border: 1px solid var(--line);
    text-align: start;
    overflow-wrap: normal;
  }
  th {
    background: var(--panel);
  }

  details {
    font-size: 0.875em;
  }
  summary {
    display: flex;
    align-items: center;
    gap: 6px;
    min-height: 32px;
    cursor: pointer;
    color: var(--ink-soft);
    list-style: none;
  }
  summary::-webkit-details-marker {
    display: none;
  }
  summary::after {
    content: '';
    flex: none;
    width: 6px;
    height: 6px;
    margin-inline: 4px;
    border: solid currentColor;
    border-width: 0 1.5px 1.5px 0;
    transform: translateY(-2px) rotate(45deg);
  }
  details[open] > summary::after {
    transform: translateY(1px) rotate(225deg);
  }
  .tool {
    margin-block-end: 8px;
    padding-inline: 10px;
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
  }
  .tool.failed summary {
    color: var(--danger);
  }
  .tool p {
    color: var(--ink-soft);
  }
  .tool pre {
    margin-block: 2px 8px;
    max-height: 12em;
    overflow: auto;
    white-space: pre-wrap;
  }
  .sources {
    margin-block-start: 6px;
  }
  .thoughts {
    color: var(--ink-soft);
  }
  .thoughts p {
    padding-inline-start: 0.75em;
    border-inline-start: 3px solid var(--line);
    white-space: pre-wrap;
  }
  .sources ol {
    display: grid;
    gap: 10px;
    padding: 4px 0 6px;
    padding-inline-start: 1.5em;
  }
  .sources cite {
    font-style: normal;
    font-weight: 600;
  }
  .sources blockquote {
    margin-block-start: 2px;
    max-height: 12em;
    overflow: auto;
    white-space: pre-wrap;
  }
  /* The place of the next word. */
  .growing .part:last-child > p:last-child::after,
  .growing .part:last-child > :is(ul, ol):last-child > li:last-child:not(:has(p, ul, ol, .code))::after {
    content: '';
    display: inline-block;
    width: 0.5em;
    height: 1em;
    margin-inline-start: 2px;
    border-radius: 2px;
    background: var(--accent);
    vertical-align: -0.15em;
  }
  @media (prefers-reduced-motion: no-preference) {
    .growing .part:last-child > p:last-child::after,
    .tool.running summary .icon {
      animation: breathe 1s infinite;
    }
  }
`
