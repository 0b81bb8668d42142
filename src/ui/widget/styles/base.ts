// Styles: colours, type, plain elements, the frame. In: the page's custom properties. Out: a constructed
// style sheet, to which policies on inline styles do not apply.
import { css } from 'lit'

export const baseStyles = css`
  :host {
    --radius: var(--halfbyte-radius, 16px);
    --small-radius: min(var(--radius), 12px);
    --icon: 20px;

    display: block;
    box-sizing: border-box;
  }
  /* A page's rule for all elements matches the host too, and would override a rule for the host here. */
  .panel,
  .launcher {
    color: var(--ink);
    font-family: var(--halfbyte-font, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif);
    font-size: var(--halfbyte-font-size, 16px);
    font-weight: 400;
    font-style: normal;
    line-height: 1.5;
    letter-spacing: normal;
    word-spacing: normal;
    text-align: start;
    text-transform: none;
    text-indent: 0;
    white-space: normal;
    -webkit-text-size-adjust: 100%;
    text-size-adjust: 100%;
  }
  :host([hidden]) {
    display: none;
  }
  :host([theme='light']) {
    color-scheme: light;
  }
  :host([theme='dark']) {
    color-scheme: dark;
  }
  :host([theme='auto']) {
    color-scheme: light dark;
  }
  :host([mode='inline']) {
    height: var(--halfbyte-height, 560px);
    min-height: 240px;
  }
  :host([mode='bubble']) {
    position: fixed;
    inset-block-end: var(--halfbyte-inset, 20px);
    inset-inline-end: var(--halfbyte-inset, 20px);
    z-index: var(--halfbyte-z-index, 1000);
  }
  [hidden] {
    display: none !important;
  }
  @supports (color: lch(from red l c h)) {
    :host {
      /* Black or white, whichever contrasts more with the page's accent colour. */
      --on-accent: var(--halfbyte-on-accent, lch(from var(--accent) calc((49.44 - l) * infinity) 0 0));
    }
  }
  .panel {
    position: relative;
    display: grid;
    grid-template: auto minmax(0, 1fr) auto auto / minmax(0, 1fr);
    height: 100%;
    border: 1px solid var(--line);
    border-radius: var(--radius);
    background: var(--paper);
    overflow: hidden;
  }
  :host([mode='bubble']) .panel {
    position: absolute;
    inset-block-end: calc(100% + 12px);
    inset-inline-end: 0;
    width: min(var(--halfbyte-width, 390px), calc(100vw - 2 * var(--halfbyte-inset, 20px)));
    height: min(var(--halfbyte-height, 620px), calc(100dvh - 2 * var(--halfbyte-inset, 20px) - 68px));
    box-shadow: 0 12px 40px light-dark(rgb(20 40 30 / 18%), rgb(0 0 0 / 60%));
  }
  .launcher {
    width: 56px;
    height: 56px;
    padding: 0;
    border-radius: 50%;
    background: var(--accent);
    color: var(--on-accent);
    box-shadow: 0 6px 20px light-dark(rgb(20 40 30 / 28%), rgb(0 0 0 / 60%));
  }
  .launcher .icon {
    width: 26px;
    height: 26px;
  }
  @media (max-width: 480px) {
    :host([mode='bubble']) .panel {
      position: fixed;
      inset: 0;
      width: auto;
      height: 100dvh;
      border: 0;
      border-radius: 0;
      padding-block-end: env(safe-area-inset-bottom);
    }
  }

  .bar {
    display: flex;
    align-items: center;
    gap: 4px;
    min-height: 52px;
    padding-inline: 16px 6px;
    border-block-end: 1px solid var(--line);
  }
  .bar h2 {
    flex: 1;
    min-width: 0;
    font-size: 1em;
    font-weight: 600;
    line-height: 1.3;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  .launcher:hover {
    background: color-mix(in srgb, var(--accent) 88%, var(--ink));
  }
  @media (prefers-reduced-motion: no-preference) {
    .panel:not([hidden]) {
      animation: appear 0.16s ease-out;
    }
    :host([mode='inline']) .panel {
      animation: none;
    }
  }
  @keyframes appear {
    from {
      opacity: 0;
      transform: translateY(8px);
    }
  }
`
