// Unpack Chromium, which its package holds compressed, into node_modules/.unpacked. The package unpacks into the temporary
// folder, and adds the libraries that a bare system lacks if it finds itself on AWS Lambda.
import { mkdirSync } from 'node:fs';

process.env.TMPDIR = `${import.meta.dirname}/node_modules/.unpacked`;
process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs22.x';
mkdirSync(process.env.TMPDIR, { recursive: true });
const { default: chromium } = await import('@sparticuz/chromium');
console.log(await chromium.executablePath());
