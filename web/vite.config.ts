// How the page is built: one script, one style sheet, no inline anything, so that `default-src 'self'` holds.
import { env } from 'node:process';
import { defineConfig, type ProxyOptions } from 'vite';

// `HOB=http://127.0.0.1:PORT npx vite` shows the page of a running daemon; to it the page looks like its own.
const hob: ProxyOptions = {
  target: env['HOB'] ?? 'http://127.0.0.1:4620',
  changeOrigin: true,
  configure: (proxy) => proxy.on('proxyReq', (request) => request.removeHeader('origin')),
};

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: ['chrome107', 'edge107', 'firefox104', 'safari16'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': hob, '/healthz': hob } },
});
