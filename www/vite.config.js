import { defineConfig } from 'vite';

export default defineConfig({
  // Relative addresses only, so that dist/ works under any sub-path.
  base: './',
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
  },
  // The engines run in module workers.
  worker: { format: 'es' },
});
