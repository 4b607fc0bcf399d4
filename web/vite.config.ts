// How the page is built: one script, one style sheet, no inline anything, so that `default-src 'self'` holds.
import { defineConfig } from 'vite';

const hob = 'http://127.0.0.1:4620';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: ['chrome107', 'edge107', 'firefox104', 'safari16'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': hob, '/healthz': hob } },
});
