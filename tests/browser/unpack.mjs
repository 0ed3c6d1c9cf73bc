// Unpack Chromium, which its package holds compressed, into node_modules/.unpacked, with the libraries that bare systems lack.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

const modules = `${import.meta.dirname}/node_modules`;
const unpacked = `${modules}/.unpacked`;
const packed = (name) => brotliDecompressSync(readFileSync(`${modules}/@sparticuz/chromium/bin/${name}.br`));

mkdirSync(unpacked, { recursive: true });
execFileSync('tar', ['-x', '--no-same-owner', '-C', unpacked], { input: packed('al2023.tar') });
writeFileSync(`${unpacked}/chromium`, packed('chromium'), { mode: 0o755 });
