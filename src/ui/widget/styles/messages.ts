// Styles: messages, calls and sources. In: the shared rules. Out: a style sheet.
import { css } from 'lit'

export const messageStyles = css`
  .message {
    margin-block-end: 14px;
  }
  .ending {
    margin-block-start: 4px;
  }
  pre,
  blockquote {
    margin: 0;
  }
  details {
    font-size: 0.875em;
  }
  summary {
    color: var(--ink-soft);
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
    font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace;
    font-size: 0.875em;
  }
  .pictures {
    display: flex;
    flex-wrap: wrap;
    gap: 6px;
  }
  .pictures canvas {
    max-width: 100%;
    max-height: 160px;
    border-radius: var(--small-radius);
  }
  .pictures .gone {
    color: var(--ink-soft);
    font-size: 0.875em;
  }
  .sources {
    margin-block-start: 6px;
  }
  .sources ol {
    display: grid;
    gap: 10px;
    margin: 0;
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
    padding-inline-start: 12px;
    border-inline-start: 3px solid var(--line);
    color: var(--ink-soft);
    white-space: pre-wrap;
  }
  @media (prefers-reduced-motion: no-preference) {
    .tool.running summary .icon {
      animation: breathe 1s infinite;
    }
  }
`
